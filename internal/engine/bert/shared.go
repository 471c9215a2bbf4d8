package bert

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sotto-dp/sotto/internal/engine/mapfile"
	"github.com/sotto-dp/sotto/internal/engine/safetensors"
	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// sharedModel is what encoders of the same files share until the last of them is closed: to hash the files and to
// pack the weights takes longer than most uses of an encoder.
type sharedModel struct {
	stamps      []os.FileInfo // of the files
	settings    string
	tokens      *tokenizer
	weightsHash string
	fingerprint string
	file        tensors
	weights     *weights
	users       int
}

// inUse are those that have users.
var inUse struct {
	sync.Mutex
	all []*sharedModel
}

// acquire returns what is in use of these files as they are now, or loads it.
func acquire(files []string, settings string, load func() (*sharedModel, error)) (*sharedModel, error) {
	inUse.Lock()
	defer inUse.Unlock()
	stamps := make([]os.FileInfo, len(files))
	for i, name := range files {
		var err error
		if stamps[i], err = os.Stat(name); err != nil {
			return nil, err
		}
	}
	for _, l := range inUse.all {
		if l.settings == settings && slices.EqualFunc(l.stamps, stamps, unchanged) {
			l.users++
			return l, nil
		}
	}
	l, err := load()
	if err != nil {
		return nil, err
	}
	l.stamps, l.settings, l.users = stamps, settings, 1
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
	vocabHash, err := mapfile.Fingerprint(vocab)
	if err != nil {
		return nil, err
	}
	own := miniLM
	l, err := openWeights(path, &own)
	if err != nil {
		return nil, err
	}
	l.tokens, l.fingerprint = tokens, fingerprint(mode, l.weightsHash, vocabHash)
	return l, nil
}

// openWeights loads a safetensors file.
func openWeights(path string, c *config) (*sharedModel, error) {
	file, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	floats := floatFile{File: file}
	if _, ok := file.Tensor("bert.embeddings.word_embeddings.weight"); ok {
		floats.prefix = "bert."
	}
	return readWeights(path, floats, c)
}

// readWeights loads the weights of a file, which it closes on an error. The file is hashed meanwhile.
func readWeights(path string, file tensors, c *config) (*sharedModel, error) {
	l := &sharedModel{file: file}
	var group errgroup.Group
	group.Go(func() (err error) {
		defer fault.Watch()
		l.weightsHash, err = mapfile.Fingerprint(path)
		return err
	})
	group.Go(func() (err error) {
		defer fault.Watch()
		if l.weights, err = loadWeights(file, c); err == nil {
			err = file.Release()
		}
		return err
	})
	if err := group.Wait(); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
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
