package llama

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/internal/engine/mapfile"
	"github.com/sotto-dp/sotto/internal/engine/tokenizer"
	"github.com/sotto-dp/sotto/lm"
)

// Options configure the engine. The zero value is useful.
type Options struct {
	// Threads that compute. Default: one for each processor Go may use.
	Threads int
	// Context cuts the longest sequence. Default: what the model was trained for. Models
	// with one rotation of positions for short contexts and one for long (Phi-3) take the
	// short one up to their original context.
	Context int
	// Memory in bytes that the model may take when it is opened. Default: what the machine
	// has free, where that is known.
	Memory int64
	// Activations is the number of bits that the inputs of products with quantised weights are
	// rounded to: 8 or 16. Default: 16. With 8 the work is half of it or less where the processor
	// multiplies bytes, and scores change more: docs/models.md says by how much. Info's Version
	// names what was taken.
	Activations int

	// level of the kernels, for tests. Default: the best this processor has.
	level *kernel.Level
}

// defaultActivations is what Options says.
const defaultActivations = 16

// arithmetic names the order of operations that scores come from. It changes whenever the
// bits of a score do: a run that began with another one does not continue, since the same
// noise on other scores would release more than was charged.
func (o Options) arithmetic() (name string, precision kernel.Precision, err error) {
	switch cmp.Or(o.Activations, defaultActivations) {
	case 8:
		return "integers of 8 bits", kernel.Bits8, nil
	case 16:
		return "integers of 16 bits", kernel.Bits16, nil
	}
	return "", 0, fmt.Errorf("activations of %d bits, they should have 8 or 16", o.Activations)
}

// Model is a language model in this process. It satisfies [lm.Scorer].
type Model struct {
	path    string
	file    *gguf.File
	config  *config
	weights *weights
	kernels *kernel.Kernels
	bits    kernel.Precision
	pages   pageShape
	cache   *cache
	tokens  *tokenizer.Tokenizer
	info    lm.Info

	print       sync.Once
	fingerprint string

	// One step at a time goes through the model: it uses all threads. waiting is how many
	// want to; see [Model.Occupy].
	mu      sync.Mutex
	waiting atomic.Int64
	pool    *pool
	pass    *pass
	closed  bool

	computed, cached, rows atomic.Int64
}

var (
	_ lm.Scorer    = (*Model)(nil)
	_ lm.Predictor = (*Model)(nil)
	_ lm.Occupier  = (*Model)(nil)
)

// Open loads a model from a GGUF file.
func Open(path string, o Options) (*Model, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, lm.FileProblem(fmt.Errorf("cannot open the model: %w", err))
	}
	m, err := load(file, o)
	if err != nil {
		file.Close()
		return nil, fileProblem(fmt.Errorf("cannot load the model %s: %w", filepath.Base(path), err))
	}
	m.path = path
	// What files call themselves inside is often the name of a training run.
	m.info.Name = strings.TrimSuffix(filepath.Base(path), ".gguf")
	return m, nil
}

// load reads a model from an open file, which it owns from then on.
func load(file *gguf.File, o Options) (*Model, error) {
	if o.Threads < 0 || o.Context < 0 || o.Memory < 0 {
		return nil, fmt.Errorf("threads, context and memory must not be negative")
	}
	arithmetic, precision, err := o.arithmetic()
	if err != nil {
		return nil, err
	}
	level := kernel.Best()
	if o.level != nil {
		level = *o.level
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
	threads := o.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	if err := c.fits(file, threads, o.Memory); err != nil {
		return nil, err
	}
	w, err := loadWeights(file, c)
	if err != nil {
		return nil, err
	}
	m := &Model{file: file, config: c, weights: w, kernels: kernel.For(level), bits: precision, pages: newPageShape(c), tokens: tokens}
	m.cache = &cache{shape: m.pages}
	m.pool = newPool(threads)
	m.pass = m.newPass()
	m.info = lm.Info{
		Name: c.name, Backend: "embedded", Version: arithmetic, Parameters: parameters(file),
		Capacity:      lm.Capacity{Context: c.context, Vocabulary: tokens.Size(), Top: tokens.Size()},
		Deterministic: true, BatchInvariant: true,
		Can: lm.Capabilities{Generate: true, Chat: tokens.Template() != "", Candidates: true, Top: true, All: true, Given: true, SharedPrefix: true},
	}
	// The packed copy is what steps read from now on.
	return m, file.Release()
}

func parameters(f *gguf.File) (n int64) {
	for _, t := range f.Tensors() {
		n += int64(t.Rows()) * int64(t.Cols())
	}
	return n
}

// Info describes the model. The first call reads the whole file for its hash.
func (m *Model) Info() lm.Info {
	// A file that cannot be read any more has none.
	m.print.Do(func() { m.fingerprint, _ = mapfile.Fingerprint(m.path) })
	info := m.info
	info.Fingerprint = m.fingerprint
	return info
}

// Tokenizer returns the model's tokeniser.
func (m *Model) Tokenizer() lm.Tokenizer { return m.tokens }

// Chat lays out messages as the model's template says.
func (m *Model) Chat(_ context.Context, messages []lm.Message) ([]lm.Token, error) {
	return m.tokens.Chat(messages)
}

// Generate completes prompts.
func (m *Model) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	return lm.GenerateBySteps(ctx, m, prompts, o)
}

// Usage returns the cost of all sessions so far.
func (m *Model) Usage() lm.Usage {
	return lm.Usage{Computed: m.computed.Load(), Cached: m.cached.Load(), Rows: m.rows.Load()}
}

// WeightBytes returns the memory of the packed weights.
func (m *Model) WeightBytes() int64 { return m.weights.bytes() }

// Close frees the model. Its sessions answer lm.ErrClosed from then on.
func (m *Model) Close() error {
	m.acquire()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	m.pool.close()
	m.weights, m.pass = nil, nil
	return m.file.Close()
}
