// Command synth measures what a private text costs: every method of Sotto, beside the
// published schedule of the same method on the same engine (M full prompts for every
// token, one after the other, nothing kept), at the same ε and length. It also measures
// how costs grow with the number of records.
//
//	go run ./bench/synth -out docs/bench-synth.md
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"sotto/lm"
	"sotto/lm/backend"
	"sotto/plan"
	"sotto/privacy/noise"
	"sotto/private"
	"sotto/private/decode"
	"sotto/private/draw"
	"sotto/private/record"
	"sotto/prompt"
)

// settings of a run.
type settings struct {
	out     string
	tokens  int
	size    int
	epsilon float64
	sizes   string
}

func main() {
	var s settings
	flag.StringVar(&s.out, "out", "", "write the report to this file too")
	flag.IntVar(&s.tokens, "tokens", 100, "length of the text")
	flag.IntVar(&s.size, "size", 30000, "records of a label")
	flag.Float64Var(&s.epsilon, "epsilon", 1, "ε of the text")
	flag.StringVar(&s.sizes, "sizes", "1000,100000,10000000", "numbers of records to compare the time of a token over")
	flag.Parse()
	if err := run(s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(s settings) error {
	ctx := context.Background()
	model, err := backend.Trusted(ctx, backend.Spec{})
	if err != nil {
		return err
	}
	defer model.Close()
	dir, err := os.MkdirTemp("", "sotto-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	task, err := prompt.Builtin("agnews")
	if err != nil {
		return err
	}
	task.Labels = task.Labels[:1]
	b := &bench{settings: s, model: model, task: task, dir: dir}
	report, err := b.report(ctx)
	if err != nil {
		return err
	}
	fmt.Print(report)
	if s.out == "" {
		return nil
	}
	return os.WriteFile(s.out, []byte(report), 0o644)
}

type bench struct {
	settings
	model lm.Trusted
	task  prompt.Task
	dir   string
}

// cost of one text.
type cost struct {
	seconds float64
	// picking is the part of it that went into aggregation and noise.
	picking float64
	tokens  int64
	steps   int
	// settings in words.
	method string
	heap   uint64
}

// timed measures the time that picks take.
type timed struct {
	decode.Method
	spent *time.Duration
}

func (t timed) Pick(v decode.View, s *noise.Stream) (int, error) {
	start := time.Now()
	defer func() { *t.spent += time.Since(start) }()
	return t.Method.Pick(v, s)
}

// write writes one text of exactly the asked length.
func (b *bench) write(ctx context.Context, data *record.Data, size, tokens int, method string, published bool) (cost, error) {
	rules := plan.DefaultRules(b.task)
	rules.Least = tokens
	p, err := plan.New(plan.Request{Task: b.task, Method: method, Size: int64(size), Epsilon: b.epsilon, Delta: 1e-6, Shots: 1, Tokens: tokens, Rules: &rules})
	if err != nil {
		return cost{}, err
	}
	w, err := decode.NewWriter(decode.Options{Model: b.model, Task: b.task, Pool: data, Key: noise.KeyFromSeed(1), Tokens: tokens, Rules: rules, Published: published})
	if err != nil {
		return cost{}, err
	}
	var c cost
	var picking time.Duration
	job := decode.Job{Text: draw.Text{}, Condition: b.task.Labels[0], Method: timed{p.Parts[0].Method, &picking}}
	start := time.Now()
	err = w.Write(ctx, []decode.Job{job}, func(_ decode.Job, r private.Released) error {
		c.steps = r.Steps()
		return nil
	})
	c.seconds, c.picking, c.tokens = time.Since(start).Seconds(), picking.Seconds(), w.Usage().Computed
	c.method = describe(p.Parts[0].Method)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	c.heap = memory.HeapAlloc
	return c, err
}

func describe(m decode.Method) string {
	if s, ok := m.(decode.Settings); ok {
		m = s.Method
	}
	switch m := m.(type) {
	case *decode.Clipped:
		return fmt.Sprintf("B = %g, C = %.2f, τ = %g", m.Expected, m.Clip(), m.Temperature)
	case *decode.Gaussian:
		return fmt.Sprintf("M = %d, σ = %.3f", m.Draw.Prompts, m.Sigma)
	case *decode.NoisyMax:
		return fmt.Sprintf("M = %d, ε = %.3f a step", m.Draw.Prompts, m.Epsilon)
	case *decode.Radius:
		return fmt.Sprintf("M = %d, σ₁ = %.3f", m.Draw.Prompts, m.Sigma1)
	}
	return ""
}

// open writes n made-up articles and enrols them.
func (b *bench) open(ctx context.Context, n int) (*record.Data, time.Duration, error) {
	path := filepath.Join(b.dir, fmt.Sprintf("news-%d.jsonl", n))
	if err := writeNews(path, b.task.Labels[0], n); err != nil {
		return nil, 0, err
	}
	start := time.Now()
	data, err := record.Open(ctx, path, record.Options{
		Text: b.task.Text, Condition: b.task.Label, Labels: b.task.Labels, OneLine: true, Private: filepath.Join(b.dir, "private"),
	})
	return data, time.Since(start), err
}

func (b *bench) report(ctx context.Context) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "# What a private text costs\n\nMade by `make bench-synth`: %s, %d processors, one text of %d tokens for one label of %d records, ε = %g, δ = 1e-6.\n", b.model.Info().Name, runtime.NumCPU(), b.tokens, b.size, b.epsilon)
	fmt.Fprintf(&out, "\"As published\" is the schedule of the papers' programs on the same engine: every prompt of every token in full, one after the other.\n\n")
	data, _, err := b.open(ctx, b.size)
	if err != nil {
		return "", err
	}
	defer data.Close()
	if err := b.methods(ctx, &out, data); err != nil {
		return "", err
	}
	return out.String(), b.growth(ctx, &out)
}

func (b *bench) methods(ctx context.Context, out *strings.Builder, data *record.Data) error {
	fmt.Fprintf(out, "| method | settings | seconds | model tokens | aggregation | as published: seconds | tokens | time ratio | token ratio |\n|---|---|---|---|---|---|---|---|---|\n")
	var gaussian, clipped cost
	for _, method := range []string{"clipped", "gaussian", "noisymax", "radius"} {
		fmt.Fprintf(os.Stderr, "== %s\n", method)
		ours, err := b.write(ctx, data, b.size, b.tokens, method, false)
		if err != nil {
			return err
		}
		if method == "clipped" { // it was never published with another schedule
			fmt.Fprintf(out, "| %s | %s | %.1f | %d | %.1f %% | | | | |\n", method, ours.method, ours.seconds, ours.tokens, 100*ours.picking/ours.seconds)
			clipped = ours
			continue
		}
		fmt.Fprintf(os.Stderr, "== %s as published\n", method)
		theirs, err := b.write(ctx, data, b.size, b.tokens, method, true)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %s | %s | %.1f | %d | %.1f %% | %.1f | %d | %.2f× | %.2f× |\n", method, ours.method, ours.seconds, ours.tokens, 100*ours.picking/ours.seconds,
			theirs.seconds, theirs.tokens, theirs.seconds/ours.seconds, float64(theirs.tokens)/float64(ours.tokens))
		if method == "gaussian" {
			gaussian = theirs
		}
	}
	fmt.Fprintf(out, "\n`clipped` against `gaussian` as published, same ε and length: %.1f× fewer model tokens (goal 20×), %.1f× less time (goal 10×).\n", float64(gaussian.tokens)/float64(clipped.tokens), gaussian.seconds/clipped.seconds)
	return nil
}

// growth shows that costs do not depend on the number of records.
func (b *bench) growth(ctx context.Context, out *strings.Builder) error {
	const tokens = 20
	fmt.Fprintf(out, "\n## Over the number of records\n\n`clipped`, %d tokens. A file is read through once, when it is enrolled; after that only drawn records are read.\n\n| records | enrolment, seconds | milliseconds a token | heap, MB |\n|---|---|---|---|\n", tokens)
	for _, field := range strings.Split(b.sizes, ",") {
		var n int
		if _, err := fmt.Sscan(field, &n); err != nil {
			return fmt.Errorf("the size %q is not a number", field)
		}
		fmt.Fprintf(os.Stderr, "== %d records\n", n)
		data, took, err := b.open(ctx, n)
		if err != nil {
			return err
		}
		c, err := b.write(ctx, data, n, tokens, "clipped", false)
		data.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %d | %.1f | %.1f | %.0f |\n", n, took.Seconds(), 1000*c.seconds/float64(c.steps), float64(c.heap)/1e6)
		os.Remove(filepath.Join(b.dir, fmt.Sprintf("news-%d.jsonl", n)))
	}
	return nil
}
