package probe

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/sotto-dp/sotto/internal/engine/llama"
	"github.com/sotto-dp/sotto/lm"
)

// What is measured.
const (
	Prefill     = 512 // tokens of the prompt
	benchPrompt = 64  // tokens before decoding starts
	benchSteps  = 32  // tokens decoded
	Batch       = 17  // sequences of the ensemble: one public, 16 private
	benchShared = 100 // tokens that these share
	benchLength = 200 // tokens that each has
	Candidates  = 100 // tokens that private sequences are asked about
)

// Speeds are medians of what was measured.
type Speeds struct {
	Backend      string             `json:"backend"`
	Threads      int                `json:"threads,omitempty"`
	Prefill      float64            `json:"prefill_tokens_per_s"`
	Decode       map[string]float64 `json:"decode_tokens_per_s"`
	EnsembleStep float64            `json:"ensemble_step_ms"`
	Weights      int64              `json:"weights_bytes,omitempty"`
	Repeat       int                `json:"repeat"`
}

// Bench measures a model, each speed a number of times. Threads are those of the embedded
// engine, 0 for one for each processor.
func Bench(ctx context.Context, model lm.Scorer, threads, repeat int) (*Speeds, error) {
	info := model.Info()
	if info.Context < Prefill {
		return nil, &InputError{fmt.Sprintf("%s takes %d tokens, and measuring needs %d", info.Name, info.Context, Prefill)}
	}
	r := &Speeds{Backend: info.Backend, Decode: map[string]float64{}, Repeat: repeat}
	if engine, ok := model.(*llama.Model); ok {
		r.Weights = engine.WeightBytes()
		if r.Threads = threads; r.Threads == 0 {
			r.Threads = runtime.GOMAXPROCS(0)
		}
	}
	return r, r.measure(ctx, &bench{model: model, info: info, repeat: repeat})
}

func (r *Speeds) measure(ctx context.Context, b *bench) error {
	var err error
	if b.session, err = b.model.Open(ctx); err != nil {
		return err
	}
	defer b.session.Close()
	seconds, err := b.prefill(ctx)
	if err != nil {
		return err
	}
	r.Prefill = Prefill / seconds
	for _, n := range []int{1, Batch} {
		if seconds, err = b.decode(ctx, n); err != nil {
			return err
		}
		r.Decode[strconv.Itoa(n)] = float64(n) / seconds
	}
	if seconds, err = b.ensemble(ctx); err != nil {
		return err
	}
	r.EnsembleStep = 1000 * seconds
	return nil
}

// bench measures a model.
type bench struct {
	model   lm.Scorer
	info    lm.Info
	session lm.Session
	repeat  int
	drawn   uint32
}

// tokens makes text that no cache has seen: what it says does not change the time.
func (b *bench) tokens(n int) []lm.Token {
	list := make([]lm.Token, n)
	for i := range list {
		b.drawn = b.drawn*1664525 + 1013904223
		list[i] = lm.Token(uint64(b.drawn>>4) % uint64(b.info.Vocabulary))
	}
	return list
}

// sequences are n that share some tokens and continue with their own.
func (b *bench) sequences(ctx context.Context, n, shared, own int) ([]lm.Sequence, error) {
	root, err := b.session.New()
	if err != nil {
		return nil, err
	}
	if _, err := b.session.Step(ctx, []lm.Step{{Sequence: root, Tokens: b.tokens(shared)}}); err != nil {
		return nil, err
	}
	list := make([]lm.Sequence, n)
	steps := make([]lm.Step, n)
	for i := range list {
		if list[i], err = b.session.Fork(root); err != nil {
			return nil, err
		}
		steps[i] = lm.Step{Sequence: list[i], Tokens: b.tokens(own)}
	}
	_, err = b.session.Step(ctx, steps)
	return list, err
}

// median extends forks of sequences by some tokens each, a number of times in a
// row, and that again and again after a first time to warm up. It is the time of
// one step.
func (b *bench) median(ctx context.Context, list []lm.Sequence, asks []lm.Ask, width, count int) (float64, error) {
	var all []float64
	for i := range b.repeat + 1 {
		forks := make([]lm.Sequence, len(list))
		for k, sequence := range list {
			var err error
			if forks[k], err = b.session.Fork(sequence); err != nil {
				return 0, err
			}
		}
		began := time.Now()
		for range count {
			steps := make([]lm.Step, len(forks))
			for k, fork := range forks {
				steps[k] = lm.Step{Sequence: fork, Tokens: b.tokens(width), Ask: asks[k]}
			}
			if _, err := b.session.Step(ctx, steps); err != nil {
				return 0, err
			}
		}
		if took := time.Since(began).Seconds() / float64(count); i > 0 {
			all = append(all, took)
		}
		for _, fork := range forks {
			if err := b.session.Drop(fork); err != nil {
				return 0, err
			}
		}
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

func (b *bench) prefill(ctx context.Context) (float64, error) {
	empty, err := b.session.New()
	if err != nil {
		return 0, err
	}
	return b.median(ctx, []lm.Sequence{empty}, []lm.Ask{{Top: 1}}, Prefill, 1)
}

// decode is the time of a step in which each sequence gets a token, and the best
// next one of the whole vocabulary is found for each.
func (b *bench) decode(ctx context.Context, n int) (float64, error) {
	list, err := b.sequences(ctx, n, benchPrompt/2, benchPrompt/2)
	if err != nil {
		return 0, err
	}
	steps := benchSteps
	if n > 1 {
		steps /= 4
	}
	return b.median(ctx, list, slices.Repeat([]lm.Ask{{Top: 1}}, n), 1, steps)
}

func (b *bench) ensemble(ctx context.Context) (float64, error) {
	const steps = 8
	// Half of the steps are before the length that is meant, half after it.
	list, err := b.sequences(ctx, Batch, benchShared, benchLength-benchShared-steps/2)
	if err != nil {
		return 0, err
	}
	candidates := make([]lm.Token, Candidates)
	for i := range candidates {
		candidates[i] = lm.Token(i * (b.info.Vocabulary / Candidates))
	}
	asks := slices.Repeat([]lm.Ask{{Candidates: candidates}}, Batch)
	if asks[0] = (lm.Ask{All: true}); !b.info.Can.All {
		asks[0] = lm.Ask{Top: max(1, b.info.Top)}
	}
	return b.median(ctx, list, asks, 1, steps)
}
