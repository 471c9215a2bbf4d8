package llama

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/gguf"
	"github.com/sotto-dp/sotto/lm/internal/kernel"
	"github.com/sotto-dp/sotto/lm/tokenizer"
)

// Options of the engine. The zero value is good.
type Options struct {
	// Threads that compute. Default: one for each processor Go may use.
	Threads int
	// Context cuts the longest sequence. Default: what the model was trained for.
	Context int
	// CacheBytes bounds the memory of keys and values. Default: no bound.
	CacheBytes int64
	// Level of the kernels, by name ("portable", "avx2", "avx512"), for tests and
	// comparisons. Default: the best this processor has. Scores are the same.
	Level string
}

// Model is a language model in this process. It satisfies [lm.Scorer].
type Model struct {
	path     string
	file     *gguf.File
	config   *config
	weights  *weights
	rotation *rotation
	kernels  *kernel.Kernels
	pages    pageShape
	cache    *cache
	tokens   *tokenizer.Tokenizer
	info     lm.Info

	print       sync.Once
	fingerprint string

	// One step at a time goes through the model: it uses all threads.
	mu     sync.Mutex
	pool   *pool
	pass   *pass
	closed bool

	computed, cached, rows atomic.Int64
}

var _ lm.Scorer = (*Model)(nil)

// Open loads a model from a GGUF file.
func Open(path string, o Options) (*Model, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, lm.FileProblem(fmt.Errorf("cannot open the model: %w", err))
	}
	m, err := load(file, o)
	if err != nil {
		file.Close()
		return nil, lm.FileProblem(fmt.Errorf("cannot load the model %s: %w", filepath.Base(path), err))
	}
	m.path = path
	// What files call themselves inside is often the name of a training run.
	m.info.Name = strings.TrimSuffix(filepath.Base(path), ".gguf")
	return m, nil
}

// load reads a model from an open file, which it owns from then on.
func load(file *gguf.File, o Options) (*Model, error) {
	if o.Threads < 0 || o.Context < 0 || o.CacheBytes < 0 {
		return nil, fmt.Errorf("threads, context and cache must not be negative")
	}
	level, err := kernelLevel(o.Level)
	if err != nil {
		return nil, err
	}
	c, err := readConfig(file)
	if err != nil {
		return nil, err
	}
	if o.Context > 0 {
		c.context = min(c.context, o.Context)
	}
	tokens, err := tokenizer.FromGGUF(file)
	if err != nil {
		return nil, err
	}
	if tokens.Size() > c.vocab {
		return nil, fmt.Errorf("the tokeniser has %d tokens and the model rows for %d: the file is damaged", tokens.Size(), c.vocab)
	}
	w, err := loadWeights(file, c)
	if err != nil {
		return nil, err
	}
	m := &Model{file: file, config: c, weights: w, kernels: kernel.For(level), pages: newPageShape(c), tokens: tokens}
	m.rotation = newRotation(c, w.factors, c.context)
	m.cache = &cache{shape: m.pages}
	if o.CacheBytes > 0 {
		m.cache.limit = max(1, int(o.CacheBytes/int64(4*m.pages.size)))
	}
	threads := o.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	m.pool = newPool(threads)
	m.pass = m.newPass()
	m.info = lm.Info{
		Name: c.name, Backend: "embedded",
		Capacity:      lm.Capacity{Context: c.context, Vocabulary: tokens.Size(), Top: tokens.Size()},
		Deterministic: true, BatchInvariant: true,
		Can: lm.Capabilities{Generate: true, Chat: tokens.Template() != "", Candidates: true, Top: true, All: true, Given: true, SharedPrefix: true},
	}
	// The packed copy is what steps read from now on.
	return m, file.Release()
}

// kernelLevel finds a level by name.
func kernelLevel(name string) (kernel.Level, error) {
	if name == "" {
		return kernel.Best(), nil
	}
	var known []string
	for _, l := range kernel.Levels() {
		if l.String() == name {
			return l, nil
		}
		known = append(known, l.String())
	}
	return 0, fmt.Errorf("this processor has no kernels %q, but %s", name, strings.Join(known, ", "))
}

// Info describes the model. The first call reads the whole file for its hash.
func (m *Model) Info() lm.Info {
	m.print.Do(func() { m.fingerprint = fileHash(m.path) })
	info := m.info
	info.Fingerprint = m.fingerprint
	return info
}

// fileHash returns the file's SHA-256, or "" if it cannot be read any more.
func fileHash(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// Path of the model's file.
func (m *Model) Path() string { return m.path }

// Tokenizer of the model.
func (m *Model) Tokenizer() lm.Tokenizer { return m.tokens }

// Chat lays out messages as the model's template says.
func (m *Model) Chat(_ context.Context, messages []lm.Message) ([]lm.Token, error) {
	return m.tokens.Chat(messages)
}

// Generate completes prompts.
func (m *Model) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	return lm.GenerateBySteps(ctx, m, prompts, o)
}

// Usage returns what all sessions have cost so far.
func (m *Model) Usage() lm.Usage {
	return lm.Usage{Computed: m.computed.Load(), Cached: m.cached.Load(), Rows: m.rows.Load()}
}

// Memory is what the model holds, in bytes.
type Memory struct {
	// Weights are packed; Cache is pages of keys and values in use.
	Weights, Cache int64
}

// Memory reports what the model holds at the moment.
func (m *Model) Memory() Memory {
	m.cache.mu.Lock()
	pages := m.cache.used
	m.cache.mu.Unlock()
	return Memory{Weights: m.weights.bytes(), Cache: int64(pages) * int64(m.pages.size) * 4}
}

// Close frees the model. Its sessions answer lm.ErrClosed from then on.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	m.pool.close()
	m.weights, m.pass = nil, nil
	return m.file.Close()
}
