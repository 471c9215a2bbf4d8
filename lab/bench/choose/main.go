// Command choose measures the cost and benefit of choosing by the records, round by round:
// tokens through the model, time, and the winner's score on test items. Its randomness comes
// from a seed, so its results have no privacy guarantee.
//
//	go run ./bench/choose -data DIR -datasets agnews,trec
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/plan/search"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// bench is a run: its settings and its model.
type bench struct {
	data, private string
	items         int
	seed          uint64
	epsilon       float64
	choosing      plan.Choosing
	model         lm.Trusted
}

func main() {
	b := bench{choosing: plan.Choosing{Writing: -1, Measuring: -1}}
	flag.StringVar(&b.data, "data", "", "a folder of data sets, each with train.jsonl.gz and test.jsonl.gz")
	datasets := flag.String("datasets", "agnews", "data sets, separated by commas")
	flag.IntVar(&b.items, "items", 100, "test items")
	flag.Uint64Var(&b.seed, "seed", 1, "of all randomness: nothing here protects anybody")
	flag.Float64Var(&b.epsilon, "epsilon", 1, "ε of all rounds together")
	flag.Int64Var(&b.choosing.Records, "records", 0, "records of a round, on average; 0 for what the work allows")
	flag.Int64Var(&b.choosing.Rounds, "rounds", 0, "rounds; 0 for what the work allows")
	flag.Float64Var(&b.choosing.Work, "work", 0, "tokens; 0 for the default")
	out := harness.Out()
	harness.Main(func(ctx context.Context) error {
		text, err := b.report(ctx, strings.Split(*datasets, ","))
		if err != nil {
			return err
		}
		return harness.Write(*out, text)
	})
}

func (b *bench) report(ctx context.Context, names []string) (text string, err error) {
	machine := harness.Here()
	if b.model, err = backend.Trusted(ctx, backend.Spec{}); err != nil {
		return "", err
	}
	defer b.model.Close()
	if b.private, err = os.MkdirTemp("", "bench-choose"); err != nil {
		return "", err
	}
	defer os.RemoveAll(b.private)
	var w strings.Builder
	fmt.Fprintf(&w, `# What choosing by the records costs and brings

Made by `+"`make bench-choose`"+`: %s, %s, load average before %s, ε = %v, seed %d, the default settings except
the pool, which is model-generated. Scores are percent right of %d test items; tokens and seconds add up
over the rounds. "Saved" are the tokens that each question with its whole prompt anew would have taken
besides: the ratio is all of them to those that were computed.
`, b.model.Info().Name, machine.Name, machine.Load, b.epsilon, b.seed, b.items)
	for _, name := range names {
		if err := b.rounds(ctx, &w, name); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	return w.String(), nil
}

// sizes of the train files.
var sizes = map[string]int64{"agnews": 27632, "dbpedia": 15274, "trec": 5452, "mit-g": 2953, "mit-d": 1561, "samsum": 14732, "e2e": 42061, "wikilarge": 11468}

// rounds searches once, and prints what each round's winner is worth.
func (b *bench) rounds(ctx context.Context, out io.Writer, name string) error {
	t, err := prompt.Find(name)
	if err != nil {
		return err
	}
	t = t.WithDefaults()
	items, err := eval.ReadItems(filepath.Join(b.data, name, "test.jsonl.gz"), t)
	if err == nil {
		items, err = eval.Subset(items, b.items)
	}
	if err != nil {
		return err
	}
	closed := !t.Open() && t.Kind != prompt.Generate
	o := record.Options{Text: t.Text, Condition: t.Label, Aliases: t.Aliases, OneLine: t.OneLine() && t.Kind != prompt.Generate, Private: b.private, OnError: record.Skip}
	if !t.Open() {
		o.Labels, o.Together = t.Labels, true
	}
	data, err := record.Open(ctx, filepath.Join(b.data, name, "train.jsonl.gz"), o)
	if err != nil {
		return err
	}
	defer data.Close()
	p, err := plan.New(plan.Request{Task: t, Epsilon: b.epsilon, Size: sizes[name], Settings: method.Values{"temperature": 1.}, Choosing: &b.choosing})
	if err != nil {
		return err
	}
	c, key := p.Choose, noise.KeyFromSeed(b.seed)
	space := search.Space{Instructions: c.Instructions, Shots: c.Shots, MaxShots: c.MaxShots}
	if closed {
		space.Labels = t.Labels
	}
	if space.Pool, err = b.pool(ctx, t, p.Shots, key); err != nil {
		return err
	}
	var last, sum lm.Usage
	judges := map[bool]*choose.Chooser{}
	for _, final := range []bool{false, true} {
		of, with := key, c.Choice
		if final {
			of, with = key.Derive("last round"), c.Round(c.AllRounds()-1)
		}
		if judges[final], err = choose.New(ctx, choose.Options{Model: b.model, Task: t, Pool: data, Key: of, Choice: with, Usage: func(u lm.Usage) { last = u }}); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n## %s\n\nAbout %.0f records judge in a round", name, c.Draw.Expected(sizes[name]))
	if c.Last != nil {
		fmt.Fprintf(out, ", and %.0f in the last", c.Last.Draw.Expected(sizes[name]))
	}
	fmt.Fprint(out, ".\n\n")
	fmt.Fprint(out, "| round | score | examples | tokens | saved | ratio | seconds |\n|---|---|---|---|---|---|---|\n")
	var winners []search.Point
	var took time.Duration
	for round := range c.AllRounds() {
		points, err := space.Propose(c.Schedule(), winners, key.Stream("search", uint64(round)))
		if err != nil {
			return err
		}
		began := time.Now()
		won, err := judges[round >= c.Rounds].Round(ctx, round%c.Rounds, space.Prompts(points))
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		took += time.Since(began)
		sum = sum.Plus(last)
		winner := points[won.Winner]
		winners = append(winners, winner)
		score, err := b.score(ctx, t, items, space.Prompt(winner))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "| %d | %.1f | %d | %d | %d | %.1f× | %.0f |\n", round+1, score, len(winner.Set),
			sum.Computed, sum.Cached, float64(sum.Computed+sum.Cached)/float64(sum.Computed), took.Seconds())
	}
	return nil
}

// pool has the model write examples without any record.
func (b *bench) pool(ctx context.Context, t prompt.Task, n int, key noise.Key) ([]prompt.Example, error) {
	w, err := decode.NewWriter(decode.Options{Model: b.model, Task: t, Key: key, Rules: plan.DefaultRules(t), Parallel: n})
	if err != nil {
		return nil, err
	}
	list := t.Labels
	if t.Open() {
		list = t.Conditions
	}
	jobs := make([]decode.Job, n)
	for i := range jobs {
		jobs[i] = decode.Job{Text: draw.Text{Index: uint64(i)}, Condition: list[i%len(list)], Method: &decode.Public{Temperature: 1, Candidates: 100}}
	}
	out := make([]prompt.Example, n)
	err = w.Write(ctx, jobs, func(j decode.Job, r private.Released) error {
		out[j.Index] = prompt.Example{Input: r.Text(), Output: j.Condition}
		if t.Kind == prompt.Generate {
			out[j.Index] = prompt.Example{Input: j.Condition, Output: r.Text()}
		}
		return nil
	})
	return slices.DeleteFunc(out, func(e prompt.Example) bool {
		return strings.TrimSpace(e.Input) == "" || strings.TrimSpace(e.Output) == ""
	}), err
}

// score returns the score of a prompt on the test items, in percent.
func (b *bench) score(ctx context.Context, t prompt.Task, items []eval.Item, p prompt.Prompt) (float64, error) {
	a, err := icl.Open(ctx, b.model.Public(), p.For(t), p.Examples, icl.Options{Calibrate: p.Calibrated, Use: p.Evidence})
	if err != nil {
		return 0, err
	}
	defer a.Close()
	inputs := make([]string, len(items))
	for i, item := range items {
		inputs[i] = item.Input
	}
	answers, err := a.Answer(ctx, inputs)
	if err != nil {
		return 0, err
	}
	pairs := make([]metric.Pair, len(items))
	for i, item := range items {
		pairs[i] = metric.Pair{Want: item.Output, Got: answers[i]}
	}
	by, err := metric.New(metric.Of(t)[0], metric.Options{})
	if err != nil {
		return 0, err
	}
	value, err := by.Value(ctx, pairs)
	return 100 * value, err
}
