package bert

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/lm"
)

// ErrClosed is returned when an encoder is used after Close.
var ErrClosed = errors.New("the sentence encoder is closed")

const (
	// group is about the maximal number of tokens that go through the layers together: weights
	// in a cache are used many times, and what lies between two of them stays in one, too.
	group = 128
	// short is the number of tokens below which a text is computed in float32. The errors of
	// bytes hardly matter in the mean of many tokens, and do in that of few.
	short = 16
	// mode names how vectors are computed. Whatever changes their bits changes it.
	mode = "bytes v1"
)

// Encoder is a sentence encoder. It is safe for concurrent use.
type Encoder struct {
	*config
	tokens      *tokenizer
	prefixed    int // pieces of the prefix
	fingerprint string
	weightsHash string
	threads     int
	workers     sync.Pool

	mu      sync.RWMutex // held for writing by Close
	shared  *sharedModel
	weights *weights
}

var _ lm.Embedder = (*Encoder)(nil)

// Open loads the weights (safetensors) and the vocabulary (vocab.txt) of
// all-MiniLM-L6-v2. The file of weights must not be changed until Close. Encoders of the same files that
// are open at a time share what was read.
func Open(path, vocab string) (*Encoder, error) {
	e, err := open(path, vocab)
	if err != nil {
		return nil, lm.FileProblem(fmt.Errorf("open a sentence encoder: %w", err))
	}
	return e, nil
}

func open(path, vocab string) (*Encoder, error) {
	return take([]string{path, vocab}, "", func() (*sharedModel, error) { return load(path, vocab) })
}

// take returns an encoder of files, which load reads unless they are in use with the same settings.
func take(files []string, settings string, load func() (*sharedModel, error)) (*Encoder, error) {
	l, err := acquire(files, settings, load)
	if err != nil {
		return nil, err
	}
	e := &Encoder{
		config:      l.weights.config,
		prefixed:    len(l.tokens.encode("")) - 2,
		tokens:      l.tokens,
		fingerprint: l.fingerprint,
		weightsHash: l.weightsHash,
		threads:     runtime.GOMAXPROCS(0),
		shared:      l,
		weights:     l.weights,
	}
	e.setLevel(kernel.Best())
	return e, nil
}

func (e *Encoder) setLevel(level kernel.Level) {
	kernels := kernel.For(level)
	e.workers.New = func() any { return &worker{k: kernels} }
}

// openVocabulary reads the vocabulary of all-MiniLM-L6-v2.
func openVocabulary(path string) (*tokenizer, error) {
	pieces, err := readPieces(path)
	if err != nil {
		return nil, err
	}
	t, err := newTokenizer(pieces)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if t.size != miniLM.vocabulary {
		return nil, fmt.Errorf("%s has %d lines, and all-MiniLM-L6-v2's vocabulary %d: give that one", path, t.size, miniLM.vocabulary)
	}
	return t, nil
}

func readPieces(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	pieces, err := readVocabulary(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return pieces, nil
}

// Dimension returns the length of the vectors.
func (e *Encoder) Dimension() int { return e.width }

// Fingerprint returns "sha256:" and a hash of all that the vectors of a text depend on: the
// files of weights and vocabulary, and how this package computes with them. Encoders of
// the same fingerprint give the same bits on every machine.
func (e *Encoder) Fingerprint() string { return e.fingerprint }

func fingerprint(mode, weightsHash, vocabHash string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(model+"\n"+mode+"\n"+weightsHash+"\n"+vocabHash+"\n")))
}

const model = "all-MiniLM-L6-v2"

// Name returns the model's name with the first digits of the fingerprint, since files of
// the same shape may hold other weights.
func (e *Encoder) Name() string { return shortName(e.name, e.fingerprint) }

// TokensName is Name for the vectors of Tokens. They are computed in float32, so it has
// the first digits of the hash of the weights alone.
func (e *Encoder) TokensName() string { return shortName(e.name, e.weightsHash) }

func shortName(name, hash string) string { return name + "@" + hash[len("sha256:"):][:12] }

// Close frees the memory, once calls under way have ended and if no other encoder of the same
// files is open. Closing again does nothing.
func (e *Encoder) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shared == nil {
		return nil
	}
	l := e.shared
	e.shared, e.weights = nil, nil
	return l.release()
}

// Embed returns the vectors of texts, in their order, or none on an error or when the
// context ends. Any number of texts may be given: they are put through the model a few at a
// time, by all threads.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	err := e.encode(ctx, texts, e.short, func(w *worker, at, text int, ids []int32) bool {
		var ok bool
		out[text], ok = w.pooled(at, len(ids))
		return ok
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// reader takes what it needs for a text from a worker's rows, from the row at on. It returns
// false where a vector cannot be computed. Readers of different texts run at the same time.
type reader func(w *worker, at, text int, ids []int32) bool

// encode puts texts through the model, those of fewer tokens than exact in float32.
func (e *Encoder) encode(ctx context.Context, texts []string, exact int, read reader) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.weights == nil {
		return ErrClosed
	}
	ids := make([][]int32, len(texts))
	for i, text := range texts {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ids[i] = e.tokens.encode(text)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.run(ctx, ids, e.batches(ids, exact), read)
}

// batch is a list of texts that go through the layers together.
type batch struct {
	texts []int
	exact bool // in float32
}

// batches puts texts into batches. What is in them does not depend on the order of the
// texts alone, and no vector depends on what is in its batch.
func (e *Encoder) batches(ids [][]int32, exact int) []batch {
	var batches []batch
	for _, inFloats := range []bool{true, false} {
		var list []int
		total := 0
		for i := range ids {
			if len(ids[i]) < exact == inFloats {
				list = append(list, i)
				total += len(ids[i])
			}
		}
		rounds := max(1, (total+group*e.threads-1)/(group*e.threads))
		for _, texts := range split(ids, list, total/(rounds*e.threads)) {
			batches = append(batches, batch{texts, inFloats})
		}
	}
	return batches
}

// split cuts a list of texts into parts that are full once they have so many tokens.
func split(ids [][]int32, list []int, full int) [][]int {
	var parts [][]int
	from, tokens := 0, 0
	for i, text := range list {
		tokens += len(ids[text])
		if tokens >= full || i == len(list)-1 {
			parts = append(parts, list[from:i+1])
			from, tokens = i+1, 0
		}
	}
	return parts
}

// run lets threads take one batch after the other.
func (e *Encoder) run(ctx context.Context, ids [][]int32, batches []batch, read reader) error {
	var next atomic.Int64
	var failed atomic.Bool
	var wait sync.WaitGroup
	for range min(e.threads, len(batches)) {
		wait.Go(func() {
			defer fault.Watch()
			w := e.workers.Get().(*worker)
			defer e.workers.Put(w)
			for ctx.Err() == nil && !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(batches) {
					return
				}
				if !w.encode(ctx, e.weights, ids, batches[i], read) {
					failed.Store(true)
				}
			}
		})
	}
	wait.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case failed.Load():
		return errors.New("a vector has no length: the weights are damaged, so fetch the sentence encoder again")
	}
	return nil
}

// encode puts a batch through the layers and lets its texts be read.
func (w *worker) encode(ctx context.Context, m *weights, ids [][]int32, b batch, read reader) bool {
	w.sentences = w.sentences[:0]
	for _, text := range b.texts {
		w.sentences = append(w.sentences, ids[text])
	}
	if !w.forward(ctx, m, w.sentences, b.exact) {
		return false
	}
	at := 0
	for i, text := range b.texts {
		if !read(w, at, text, w.sentences[i]) {
			return false
		}
		at += len(w.sentences[i])
	}
	return true
}
