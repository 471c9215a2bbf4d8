package torch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/engine/tokenizer"
	"github.com/sotto-dp/sotto/lm"
)

// Options of a model.
type Options struct {
	// Python that has PyTorch, and Triton where there is a GPU. Default: python3.
	Python string
	// Device in PyTorch's words. Default: "cuda" where there is one.
	Device string
	// DType is float16 (default), bfloat16 or float32. The residual stream, the norms and
	// what is added to the stream are float32 always.
	DType string
	// CacheGiB is the memory of keys and values. Default: 1.
	CacheGiB float64
	// PassTokens is the most that go through the model at once. Default: 65536.
	PassTokens int
	// Grace is how long the queue must be quiet before waiting steps are computed.
	// Default: 1 ms.
	Grace time.Duration
	// Context cuts the longest sequence. Default: what the model was trained for.
	Context int
	// Log gets what the worker prints. Default: nowhere. Verbose makes it say at the end
	// what its time went to.
	Log     io.Writer
	Verbose bool
}

func (o Options) check() error {
	switch {
	case o.CacheGiB < 0 || o.PassTokens < 0 || o.Grace < 0 || o.Context < 0:
		return errors.New("memory, tokens, grace and context must not be negative")
	case o.DType != "" && tolerances[o.DType] == 0:
		return fmt.Errorf("the type must be float16, bfloat16 or float32, not %q", o.DType)
	}
	return nil
}

func (o Options) arguments() []string {
	args := []string{
		"--cache", strconv.FormatFloat(cmp.Or(o.CacheGiB, 1), 'g', -1, 64),
		"--tokens", strconv.Itoa(cmp.Or(o.PassTokens, 65536)),
		"--dtype", cmp.Or(o.DType, "float16"),
	}
	if o.Device != "" {
		args = append(args, "--device", o.Device)
	}
	if o.Verbose {
		args = append(args, "--verbose")
	}
	return args
}

// tolerances bound how far scores of the same sequence move with the rest of the batch.
var tolerances = map[string]float64{"float32": 1e-3, "float16": 0.05, "bfloat16": 0.4}

// Model is a language model in a worker process. It satisfies [lm.Scorer].
type Model struct {
	tokens *tokenizer.Tokenizer
	info   lm.Info
	worker *worker

	mu     sync.Mutex
	closed bool

	computed, cached, rows atomic.Int64
}

var _ lm.Scorer = (*Model)(nil)

// Open starts a worker with a model.
func Open(path string, o Options) (*Model, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Python, o.Grace = cmp.Or(o.Python, "python3"), cmp.Or(o.Grace, time.Millisecond)
	tokens, print, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the model: %w", err)
	}
	m := &Model{tokens: tokens}
	if m.worker, err = start(path, o); err != nil {
		return nil, err
	}
	h := m.worker.hello
	if tokens.Size() != h.Vocabulary {
		return nil, errors.Join(fmt.Errorf("the tokeniser has %d tokens and the worker's model %d", tokens.Size(), h.Vocabulary), m.Close())
	}
	context := h.Context
	if o.Context > 0 {
		context = min(context, o.Context)
	}
	m.info = lm.Info{
		Name: strings.TrimSuffix(filepath.Base(path), ".gguf"), Backend: "torch", Fingerprint: print,
		Version:   fmt.Sprintf("PyTorch %s, %s, %s", h.Torch, h.DType, h.Device),
		Capacity:  lm.Capacity{Context: context, Vocabulary: tokens.Size(), Top: tokens.Size()},
		Tolerance: tolerances[h.DType],
		Can:       lm.Capabilities{Generate: true, Chat: tokens.Template() != "", Candidates: true, Top: true, All: true, Given: true, SharedPrefix: true},
	}
	return m, nil
}

// read gets the tokeniser of a file, and its hash.
func read(path string) (*tokenizer.Tokenizer, string, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	tokens, err := tokenizer.FromGGUF(file)
	if err != nil {
		return nil, "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, "", err
	}
	return tokens, fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}

// Info describes the model.
func (m *Model) Info() lm.Info { return m.info }

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

// Close ends the worker. Sessions answer lm.ErrClosed from then on.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	return m.worker.close()
}

// Open starts a session.
func (m *Model) Open(ctx context.Context) (lm.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, lm.ErrClosed
	}
	m.worker.room.enter()
	return &session{model: m, worker: m.worker, sequences: map[lm.Sequence]*sequence{}}, nil
}
