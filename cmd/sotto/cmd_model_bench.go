package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/llama"
)

type benchOptions struct {
	modelFlags
	repeat int
}

// What is measured.
const (
	benchPrefill    = 512 // tokens of the prompt
	benchPrompt     = 64  // tokens before decoding starts
	benchSteps      = 32  // tokens decoded
	benchBatch      = 17  // sequences of the ensemble: one public, 16 private
	benchShared     = 100 // tokens that these share
	benchLength     = 200 // tokens that each has
	benchCandidates = 100
)

func newModelBenchCommand(p *program) *cobra.Command {
	var opt benchOptions
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "How fast a model is on this machine",
		Long: `Measures a model on all processors (or --threads) of this machine, or on a
server, and prints the medians:

  - prefill: reading a prompt of 512 tokens;
  - decode: writing with 1 sequence, and with 17 at once;
  - ensemble step: what a private method pays for a token with 16 private prompts
    and a public one, of 200 tokens that share their first 100; all scores for
    the public one, 100 candidates for the others.

` + modelHelp + `

Keys of --json: model, backend, threads, load_seconds, prefill_tokens_per_s,
decode_tokens_per_s ("1" and "17"), ensemble_step_ms, weights_bytes, repeat.`,
		Example: `  sotto model bench
  sotto model bench --model qwen2.5-coder --threads 1 --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runModelBench(cmd.Context(), p, opt) },
	}
	opt.add(cmd)
	cmd.Flags().IntVar(&opt.repeat, "repeat", 5, "measure each `N` times and take the median")
	return cmd
}

type benchResult struct {
	Model        string             `json:"model"`
	Backend      string             `json:"backend"`
	Threads      int                `json:"threads,omitempty"`
	LoadSeconds  float64            `json:"load_seconds"`
	Prefill      float64            `json:"prefill_tokens_per_s"`
	Decode       map[string]float64 `json:"decode_tokens_per_s"`
	EnsembleStep float64            `json:"ensemble_step_ms"`
	Weights      int64              `json:"weights_bytes,omitempty"`
	Repeat       int                `json:"repeat"`
}

func (r *benchResult) Print(p *ui.Page) {
	where := "on " + r.Backend
	if r.Threads > 0 {
		where = fmt.Sprintf("%d threads", r.Threads)
	}
	p.Line("%s, %s\n", p.Paint(ui.Bold, r.Model), where)
	p.Facts(
		"load", fmt.Sprintf("%.2f s", r.LoadSeconds),
		"prefill", fmt.Sprintf("%.0f tokens/s (prompt of %d)", r.Prefill, benchPrefill),
		"decode, 1 sequence", fmt.Sprintf("%.1f tokens/s", r.Decode["1"]),
		"decode, 17 sequences", fmt.Sprintf("%.1f tokens/s together", r.Decode["17"]),
		"ensemble step", fmt.Sprintf("%.1f ms (17 sequences, %d candidates)", r.EnsembleStep, benchCandidates),
		"weights in memory", size(r.Weights),
	)
}

func runModelBench(ctx context.Context, p *program, opt benchOptions) error {
	if opt.repeat < 1 {
		return usage("--repeat must be at least 1")
	}
	spec, err := p.modelSpec(opt.modelFlags)
	if err != nil {
		return err
	}
	began := time.Now()
	model, err := backend.Scorer(ctx, spec)
	if err != nil {
		return err
	}
	defer model.Close()
	r := &benchResult{LoadSeconds: time.Since(began).Seconds(), Decode: map[string]float64{}, Repeat: opt.repeat}
	info := model.Info()
	r.Model, r.Backend = modelName(spec, info), info.Backend
	if info.Context < benchPrefill {
		return usage("%s takes %d tokens, and measuring needs %d", info.Name, info.Context, benchPrefill)
	}
	if engine, ok := model.(*llama.Model); ok {
		r.Weights = engine.Memory().Weights
		if r.Threads = spec.Threads; r.Threads == 0 {
			r.Threads = runtime.GOMAXPROCS(0)
		}
	}
	b := &bench{model: model, info: info, repeat: opt.repeat}
	if err := r.measure(ctx, b); err != nil {
		return err
	}
	return p.Emit(r)
}

func (r *benchResult) measure(ctx context.Context, b *bench) error {
	var err error
	if b.session, err = b.model.Open(ctx); err != nil {
		return err
	}
	defer b.session.Close()
	seconds, err := b.prefill(ctx)
	if err != nil {
		return err
	}
	r.Prefill = benchPrefill / seconds
	for _, n := range []int{1, benchBatch} {
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

// sequences are n that share some tokens and go on with their own.
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
	return b.median(ctx, []lm.Sequence{empty}, []lm.Ask{{Top: 1}}, benchPrefill, 1)
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
	list, err := b.sequences(ctx, benchBatch, benchShared, benchLength-benchShared-steps/2)
	if err != nil {
		return 0, err
	}
	candidates := make([]lm.Token, benchCandidates)
	for i := range candidates {
		candidates[i] = lm.Token(i * (b.info.Vocabulary / benchCandidates))
	}
	asks := slices.Repeat([]lm.Ask{{Candidates: candidates}}, benchBatch)
	if asks[0] = (lm.Ask{All: true}); !b.info.Can.All {
		asks[0] = lm.Ask{Top: max(1, b.info.Top)}
	}
	return b.median(ctx, list, asks, 1, steps)
}
