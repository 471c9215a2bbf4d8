package bert

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// Options are settings of a sentence encoder that are not in its files.
type Options struct {
	// Name of the encoder. Default: that of the folder or the file.
	Name string
	// Prefix is what every text begins with, such as "query: " for those of e5. It is a part of the
	// fingerprint. Default: what the folder's config_sentence_transformers.json says, else none.
	Prefix string
}

// OpenModel loads a sentence encoder of BERT's architecture, such as those called bge, e5 and gte: a folder as
// sentence-transformers writes it, named by itself or by model.safetensors in it, or a GGUF file. What
// the encoder does with a text (mean of its word pieces or the first of them, lower case, the maximal length)
// is as these say. The files must not be changed until Close. Models that are not such encoders are
// refused, with the reason.
func OpenModel(path string, o Options) (*Encoder, error) {
	e, err := openModel(path, o)
	if err != nil {
		return nil, lm.FileProblem(fmt.Errorf("open a sentence encoder: %w", err))
	}
	return e, nil
}

func openModel(path string, o Options) (*Encoder, error) {
	if strings.HasSuffix(path, ".gguf") {
		settings := fmt.Sprintf("gguf %q %q", o.Name, o.Prefix)
		return take([]string{path}, settings, func() (*sharedModel, error) { return loadGGUF(path, o) })
	}
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.IsDir() {
		path = filepath.Dir(path)
	}
	f, err := readFolder(path, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	settings := fmt.Sprintf("folder %+v", f.config)
	return take(f.files, settings, f.load)
}

// build puts the encoder of a file or folder together.
func build(path string, c *config, pieces []string, load func() (*sharedModel, error)) (*sharedModel, error) {
	t, err := newTokenizer(pieces)
	if err != nil {
		return nil, fmt.Errorf("%s: its vocabulary: %w", path, err)
	}
	if t.size > c.vocabulary {
		return nil, fmt.Errorf("%s: its vocabulary has %d word pieces, and its weights have vectors of %d", path, t.size, c.vocabulary)
	}
	t.lower, t.strip, t.limit, t.prefix = c.lower, c.strip, c.limit, c.prefix
	if n := len(t.encode("")); n >= c.limit {
		return nil, fmt.Errorf("%s: the prefix has %d word pieces with the two that frame a text, and a text has up to %d: choose a shorter one", path, n, c.limit)
	}
	l, err := load()
	if err != nil {
		return nil, err
	}
	vocabHash := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(pieces, "\n"))))
	l.tokens, l.fingerprint = t, c.fingerprint(l.weightsHash, vocabHash)
	return l, nil
}

// precise is the number of tokens below which an encoder that was not measured is computed in float32.
const precise = math.MaxInt

func (f *folder) load() (*sharedModel, error) {
	return build(f.dir, &f.config, f.pieces, func() (*sharedModel, error) { return openWeights(f.weights, &f.config) })
}
