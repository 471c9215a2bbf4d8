package bert

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/internal/fault"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/internal/kernel"
	"github.com/sotto-dp/sotto/lm/internal/mapfile"
	"github.com/sotto-dp/sotto/lm/safetensors"
)

// ErrClosed is returned when an encoder is used after Close.
var ErrClosed = errors.New("the sentence encoder is closed")

// group is about the maximal number of tokens that go through the layers together. More
// gain nothing: by then, weights in a cache are used many times.
const group = 576

// Encoder is all-MiniLM-L6-v2. It is safe for concurrent use.
type Encoder struct {
	tokens      *tokenizer
	fingerprint string
	threads     int
	workers     sync.Pool

	mu      sync.RWMutex // held for writing by Close
	file    *safetensors.File
	weights *weights
}

var _ lm.Embedder = (*Encoder)(nil)

// Open loads the weights (safetensors) and the vocabulary (vocab.txt) of
// all-MiniLM-L6-v2. The file of weights must not be changed until Close.
func Open(path, vocab string) (*Encoder, error) {
	e, err := open(path, vocab)
	if err != nil {
		return nil, lm.FileProblem(fmt.Errorf("open a sentence encoder: %w", err))
	}
	return e, nil
}

func open(path, vocab string) (*Encoder, error) {
	tokens, err := openVocabulary(vocab)
	if err != nil {
		return nil, err
	}
	fingerprint, err := mapfile.Fingerprint(path)
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
	e := &Encoder{
		tokens:      tokens,
		fingerprint: fingerprint,
		threads:     runtime.GOMAXPROCS(0),
		file:        file,
		weights:     w,
	}
	e.setLevel(kernel.Best())
	return e, nil
}

func (e *Encoder) setLevel(level kernel.Level) {
	kernels := kernel.For(level)
	e.workers.New = func() any { return &worker{k: kernels} }
}

func openVocabulary(path string) (*tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := readVocabulary(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if t.size != vocabulary {
		return nil, fmt.Errorf("%s has %d lines, and all-MiniLM-L6-v2's vocabulary %d: give that one", path, t.size, vocabulary)
	}
	return t, nil
}

// Dimension returns the length of the vectors.
func (e *Encoder) Dimension() int { return width }

// Fingerprint returns "sha256:" and the hash of the file of weights.
func (e *Encoder) Fingerprint() string { return e.fingerprint }

// Name returns the model's name with the first digits of the fingerprint, since files of
// the same shape may hold other weights.
func (e *Encoder) Name() string { return "all-MiniLM-L6-v2@" + e.fingerprint[len("sha256:"):][:12] }

// Close frees the memory, once calls under way have ended. Closing again does
// nothing.
func (e *Encoder) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil {
		return nil
	}
	file := e.file
	e.file, e.weights = nil, nil
	return file.Close()
}

// Embed returns the vectors of texts, in their order, or none on an error or when the
// context ends.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	err := e.encode(ctx, texts, func(w *worker, b batch, sentences [][]int32) bool {
		at := 0
		for i, ids := range sentences {
			vector, ok := w.vector(at, len(ids))
			if !ok {
				return false
			}
			out[b.from+i] = vector
			at += len(ids)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// reader takes what it needs from a worker's rows for the sentences of a batch. It returns
// false where a vector cannot be computed. Readers of different batches run at the same
// time.
type reader func(w *worker, b batch, sentences [][]int32) bool

// encode puts texts through the model.
func (e *Encoder) encode(ctx context.Context, texts []string, read reader) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.weights == nil {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ids := make([][]int32, len(texts))
	total := 0
	for i, text := range texts {
		ids[i] = e.tokens.encode(text)
		total += len(ids[i])
	}
	rounds := max(1, (total+group*e.threads-1)/(group*e.threads))
	return e.run(ctx, ids, split(ids, total/(rounds*e.threads)), read)
}

// batch is a range of sentences.
type batch struct{ from, to int }

// split makes batches that are full once they have so many tokens.
func split(ids [][]int32, full int) []batch {
	var batches []batch
	from, tokens := 0, 0
	for i := range ids {
		tokens += len(ids[i])
		if tokens >= full || i == len(ids)-1 {
			batches = append(batches, batch{from, i + 1})
			from, tokens = i+1, 0
		}
	}
	return batches
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
				b := batches[i]
				sentences := ids[b.from:b.to]
				if !w.forward(ctx, e.weights, sentences) || !read(w, b, sentences) {
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
