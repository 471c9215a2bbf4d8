// Command synth measures what a private text costs: every method of Sotto, beside the
// published schedule of the same method on the same engine (M full prompts for every
// token, one after the other, nothing kept), at the same ε and length. It also measures
// how costs grow with the number of records.
//
//	go run ./bench/synth -out dist/bench-synth.md
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

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// settings of a run.
type settings struct {
	tokens  int
	epsilon float64
	sizes   string
	// sizesOnly leaves out the comparison of methods.
	sizesOnly bool
}

// setting is what texts are written in.
type setting struct {
	title  string
	task   string
	size   int
	tokens int
	// words of a record, from and up to.
	from, to int
	// prompts of a token and records in each, for methods that draw for every token.
	prompts, each int
	methods       []string
}

// settings of the papers: long records, two in a prompt; short ones, one in each of many.
func (s settings) all() []setting {
	return []setting{
		{"News", "agnews", 30000, s.tokens, 35, 55, 10, 2, []string{"clipped", "gaussian", "radius"}},
		{"Questions", "trec", 835, min(15, s.tokens), 7, 13, 80, 1, []string{"clipped", "gaussian", "radius"}},
	}
}

func main() {
	var s settings
	flag.IntVar(&s.tokens, "tokens", 100, "length of the text")
	flag.Float64Var(&s.epsilon, "epsilon", 1, "ε of the text")
	flag.StringVar(&s.sizes, "sizes", "1000,100000,10000000", "numbers of records to compare the time of a token over")
	flag.BoolVar(&s.sizesOnly, "sizes-only", false, "leave out the comparison of methods")
	out := harness.Out()
	harness.Main(func(ctx context.Context) error { return run(ctx, s, *out) })
}

func run(ctx context.Context, s settings, out string) error {
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
	b := &bench{settings: s, model: model, dir: dir}
	report, err := b.report(ctx)
	if err != nil {
		return err
	}
	return harness.Write(out, report)
}

type bench struct {
	settings
	model lm.TrustedScorer
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

// write writes one text of exactly the asked length.
func (b *bench) write(ctx context.Context, data *record.Data, t setting, name string, published bool) (cost, error) {
	task, err := t.oneLabel()
	if err != nil {
		return cost{}, err
	}
	rules := plan.DefaultRules(task)
	rules.MinTokens = t.tokens
	p, err := plan.New(plan.Request{
		Task: task, Size: int64(t.size), Epsilon: b.epsilon, Delta: 1e-6, Shots: 1, Tokens: t.tokens, Rules: &rules,
		Settings: method.Values{"prompts": t.prompts, "per_prompt": t.each},
	}.By(name))
	if err != nil {
		return cost{}, err
	}
	w, err := decode.NewWriter(decode.Options{Model: b.model, Task: task, Pool: data, Key: noise.KeyFromSeed(1), Tokens: t.tokens, Rules: rules, Published: published})
	if err != nil {
		return cost{}, err
	}
	var c cost
	job := decode.Job{Text: draw.Text{}, Condition: task.Labels[0], Method: p.Parts[0].Method}
	start := time.Now()
	err = w.Write(ctx, []decode.Job{job}, func(_ decode.Job, r private.Output) error {
		c.steps = r.Steps()
		return nil
	})
	c.seconds, c.picking, c.tokens = time.Since(start).Seconds(), w.Picking().Seconds(), w.Usage().Computed
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

// oneLabel returns the task with its first label alone.
func (t setting) oneLabel() (prompt.Task, error) {
	task, err := prompt.Builtin(t.task)
	if err == nil {
		task.Labels = task.Labels[:1]
	}
	return task, err
}

// open writes made-up records and enrols them.
func (b *bench) open(ctx context.Context, t setting) (*record.Data, time.Duration, error) {
	task, err := t.oneLabel()
	if err != nil {
		return nil, 0, err
	}
	path := filepath.Join(b.dir, fmt.Sprintf("%s-%d.jsonl", t.task, t.size))
	if err := t.writeRecords(path, task.Labels[0]); err != nil {
		return nil, 0, err
	}
	start := time.Now()
	data, err := record.Open(ctx, path, record.Options{
		Text: task.Text, Condition: task.Label, Labels: task.Labels, OneLine: true, Private: filepath.Join(b.dir, "private"),
	})
	return data, time.Since(start), err
}

func (b *bench) report(ctx context.Context) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "# What a private text costs\n\nMade by `make bench-synth`: %s, %d processors, one text for one label, ε = %g, δ = 1e-6, made-up records.\n", b.model.Info().Name, runtime.NumCPU(), b.epsilon)
	fmt.Fprintf(&out, "\"As published\" is the schedule of the papers' programs on the same engine: every prompt of every token in full, one after the other. It is measured once for a setting, with `gaussian`: it is the same for all methods that draw for every token.\n")
	for _, t := range b.all() {
		if b.sizesOnly {
			break
		}
		if err := b.methods(ctx, &out, t); err != nil {
			return "", err
		}
	}
	if err := b.growth(ctx, &out); err != nil {
		return "", err
	}
	return out.String(), nil
}

func (b *bench) methods(ctx context.Context, out *strings.Builder, t setting) error {
	data, _, err := b.open(ctx, t)
	if err != nil {
		return err
	}
	defer data.Close()
	fmt.Fprintf(out, "\n## %s: %d tokens, %d records, %d × %d records a token where a method draws for each\n\n", t.title, t.tokens, t.size, t.prompts, t.each)
	fmt.Fprintf(out, "| method | settings | seconds | model tokens | aggregation | as published: seconds | tokens | time ratio | token ratio |\n|---|---|---|---|---|---|---|---|---|\n")
	var clipped, published cost
	for _, method := range t.methods {
		fmt.Fprintf(os.Stderr, "== %s: %s\n", t.title, method)
		ours, err := b.write(ctx, data, t, method, false)
		if err != nil {
			return err
		}
		row := fmt.Sprintf("| %s | %s | %.1f | %d | %.2f %% ", method, ours.method, ours.seconds, ours.tokens, 100*ours.picking/ours.seconds)
		if method == "clipped" { // it was never published with another schedule
			clipped = ours
			fmt.Fprintf(out, "%s| | | | |\n", row)
			continue
		}
		if published.tokens == 0 {
			fmt.Fprintf(os.Stderr, "== %s: as published\n", t.title)
			if published, err = b.write(ctx, data, t, method, true); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "%s| %.1f | %d | %.2f× | %.2f× |\n", row, published.seconds, published.tokens, published.seconds/ours.seconds, float64(published.tokens)/float64(ours.tokens))
	}
	fmt.Fprintf(out, "\n`clipped` against `gaussian` as published, same ε and length: %.1f× fewer model tokens, %.1f× less time.\n", float64(published.tokens)/float64(clipped.tokens), published.seconds/clipped.seconds)
	return nil
}

// growth shows that costs do not depend on the number of records.
func (b *bench) growth(ctx context.Context, out *strings.Builder) error {
	t := b.all()[1]
	t.tokens = min(15, b.tokens)
	fmt.Fprintf(out, "\n## Over the number of records\n\n`clipped`, %d tokens, records of 7 to 13 words. A file is read through once, when it is enrolled; after that only drawn records are read.\n\n| records | settings | enrolment, seconds | milliseconds a token | of that aggregation | heap, MB |\n|---|---|---|---|---|---|\n", t.tokens)
	for _, field := range strings.Split(b.sizes, ",") {
		if _, err := fmt.Sscan(field, &t.size); err != nil {
			return fmt.Errorf("the size %q is not a number", field)
		}
		fmt.Fprintf(os.Stderr, "== %d records\n", t.size)
		data, took, err := b.open(ctx, t)
		if err != nil {
			return err
		}
		c, err := b.write(ctx, data, t, "clipped", false)
		data.Close()
		if err != nil {
			return err
		}
		each := 1000 / float64(c.steps)
		fmt.Fprintf(out, "| %d | %s | %.1f | %.1f | %.2f | %.0f |\n", t.size, c.method, took.Seconds(), c.seconds*each, c.picking*each, float64(c.heap)/1e6)
		os.Remove(filepath.Join(b.dir, fmt.Sprintf("%s-%d.jsonl", t.task, t.size)))
	}
	return nil
}
