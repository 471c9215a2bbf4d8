package bert

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/lm/internal/mapfile"
	"github.com/sotto-dp/sotto/lm/safetensors"
)

// sharedModel is what encoders of the same files share until the last of them is closed: to hash the files and to
// pack the weights takes longer than most uses of an encoder.
type sharedModel struct {
	stamps      [2]os.FileInfo // of the weights and the vocabulary
	tokens      *tokenizer
	weightsHash string
	fingerprint string
	file        *safetensors.File
	weights     *weights
	users       int
}

// inUse are those that have users.
var inUse struct {
	sync.Mutex
	all []*sharedModel
}

// acquire returns what is in use of these files as they are now, or loads it.
func acquire(path, vocab string) (*sharedModel, error) {
	inUse.Lock()
	defer inUse.Unlock()
	stamps := [2]os.FileInfo{}
	for i, name := range []string{path, vocab} {
		var err error
		if stamps[i], err = os.Stat(name); err != nil {
			return nil, err
		}
	}
	for _, l := range inUse.all {
		if unchanged(l.stamps[0], stamps[0]) && unchanged(l.stamps[1], stamps[1]) {
			l.users++
			return l, nil
		}
	}
	l, err := load(path, vocab)
	if err != nil {
		return nil, err
	}
	l.stamps, l.users = stamps, 1
	inUse.all = append(inUse.all, l)
	return l, nil
}

func unchanged(before, now os.FileInfo) bool {
	return os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

func load(path, vocab string) (*sharedModel, error) {
	tokens, err := openVocabulary(vocab)
	if err != nil {
		return nil, err
	}
	weightsHash, err := mapfile.Fingerprint(path)
	if err != nil {
		return nil, err
	}
	vocabHash, err := mapfile.Fingerprint(vocab)
	if err != nil {
		return nil, err
	}
	file, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	w, err := loadWeights(file)
	if err == nil {
		err = file.Release()
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &sharedModel{tokens: tokens, weightsHash: weightsHash, fingerprint: fingerprint(mode, weightsHash, vocabHash), file: file, weights: w}, nil
}

// release frees the memory with the last user.
func (l *sharedModel) release() error {
	inUse.Lock()
	defer inUse.Unlock()
	if l.users--; l.users > 0 {
		return nil
	}
	inUse.all = slices.DeleteFunc(inUse.all, func(other *sharedModel) bool { return other == l })
	return l.file.Close()
}
