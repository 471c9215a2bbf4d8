// Command choose measures the cost and benefit of choosing by the records, round by round:
// tokens through the model, time, and the winner's score on test items. Its randomness comes
// from a seed, so its results have no privacy guarantee.
//
//	go run ./lab/bench/choose -data DIR -datasets agnews,trec
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
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
	choosing      plan.ChooseRequest
	use           backend.Spec
	sides         []*side
}

// side is a model that chooses. The first one's winners go on to the next round; a second one is given the
// same prompts, records and noise.
type side struct {
	model     lm.TrustedScorer
	judges    map[bool]*choose.Chooser
	last, sum lm.Usage
	took      time.Duration
}

func main() {
	b := bench{choosing: plan.ChooseRequest{Writing: -1, Measuring: -1}}
	flag.StringVar(&b.data, "data", "", "a folder of data sets, each with train.jsonl.gz and test.jsonl.gz")
	datasets := flag.String("datasets", "agnews", "data sets, separated by commas")
	flag.IntVar(&b.items, "items", 100, "test items")
	flag.Uint64Var(&b.seed, "seed", 1, "of all randomness: nothing here protects anybody")
	flag.Float64Var(&b.epsilon, "epsilon", 1, "ε of all rounds together")
	flag.Int64Var(&b.choosing.Records, "records", 0, "records of a round, on average; 0 for what the work allows")
	flag.Int64Var(&b.choosing.Rounds, "rounds", 0, "rounds; 0 for what the work allows")
	flag.Float64Var(&b.choosing.Work, "work", 0, "tokens; 0 for the default")
	flag.StringVar(&b.use.Model, "model", "", "the model; smollm2 if it is not given")
	flag.IntVar(&b.use.Activations, "activations", 0, "bits of the inputs of products: 8 or 16; 16 if 0")
	beside := flag.Int("beside", 0, "choose with these bits too, among the same prompts, by the same records and noise")
	out := harness.Out()
	harness.Main(func(ctx context.Context) error {
		text, err := b.report(ctx, strings.Split(*datasets, ","), *beside)
		if err != nil {
			return err
		}
		return harness.Write(*out, text)
	})
}

func (b *bench) report(ctx context.Context, names []string, beside int) (text string, err error) {
	machine := harness.Here()
	uses := []backend.Spec{b.use}
	if beside != 0 {
		other := b.use
		other.Activations = beside
		uses = append(uses, other)
	}
	for _, use := range uses {
		m, err := backend.Trusted(ctx, use)
		if err != nil {
			return "", err
		}
		defer m.Close()
		b.sides = append(b.sides, &side{model: m})
	}
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
`, b.sides[0].model.Info().Name, machine.Name, machine.Load, b.epsilon, b.seed, b.items)
	if beside != 0 {
		fmt.Fprintf(&w, `
Beside it the same engine with %s (it: %s) is given the same prompts, records and noise in
each round. Its score and seconds follow, of what it would have chosen.
`, b.sides[1].model.Info().Version, b.sides[0].model.Info().Version)
	}
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
	for _, side := range b.sides {
		side.judges, side.sum, side.took = map[bool]*choose.Chooser{}, lm.Usage{}, 0
		for _, final := range []bool{false, true} {
			of, with := key, c.Choice
			if final {
				of, with = key.Derive("last round"), c.Round(c.AllRounds()-1)
			}
			if side.judges[final], err = choose.New(ctx, choose.Options{Model: side.model, Task: t, Pool: data, Key: of, Choice: with, Usage: func(u lm.Usage) { side.last = u }}); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(out, "\n## %s\n\nAbout %.0f records judge in a round", name, c.Draw.Expected(sizes[name]))
	if c.Last != nil {
		fmt.Fprintf(out, ", and %.0f in the last", c.Last.Draw.Expected(sizes[name]))
	}
	fmt.Fprint(out, ".\n\n")
	fmt.Fprint(out, "| round | score | examples | tokens | saved | ratio | seconds |")
	if len(b.sides) > 1 {
		fmt.Fprint(out, " beside | score | seconds |")
	}
	fmt.Fprint(out, "\n|"+strings.Repeat("---|", 4+3*len(b.sides))+"\n")
	var winners []search.Point
	for round := range c.AllRounds() {
		points, err := space.Propose(c.Schedule(), winners, key.Stream("search", uint64(round)))
		if err != nil {
			return err
		}
		first := b.sides[0]
		for _, side := range b.sides {
			winner, err := side.round(ctx, round, c.Rounds, space.Prompts(points))
			if err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			score, err := b.score(ctx, t, items, space.Prompt(points[winner]))
			if err != nil {
				return err
			}
			if side == first {
				winners = append(winners, points[winner])
				fmt.Fprintf(out, "| %d | %.1f | %d | %d | %d | %.1f× | %.0f |", round+1, score, len(points[winner].Set),
					side.sum.Computed, side.sum.Cached, float64(side.sum.Computed+side.sum.Cached)/float64(side.sum.Computed), side.took.Seconds())
				continue
			}
			choice := "the same"
			if !reflect.DeepEqual(points[winner], winners[round]) {
				choice = "another"
			}
			fmt.Fprintf(out, " %s | %.1f | %.0f |", choice, score, side.took.Seconds())
		}
		fmt.Fprintln(out)
	}
	return nil
}

// round has records judge, and returns the winner.
func (s *side) round(ctx context.Context, round, before int64, prompts []prompt.Prompt) (winner int, err error) {
	began := time.Now()
	won, err := s.judges[round >= before].Round(ctx, round%before, prompts)
	if err != nil {
		return 0, err
	}
	s.took += time.Since(began)
	s.sum = s.sum.Plus(s.last)
	return won.Winner, nil
}

// pool has the model write examples without any record.
func (b *bench) pool(ctx context.Context, t prompt.Task, n int, key noise.Key) ([]prompt.Example, error) {
	w, err := decode.NewWriter(decode.Options{Model: b.sides[0].model, Task: t, Key: key, Rules: plan.DefaultRules(t), Parallel: n})
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
	err = w.Write(ctx, jobs, func(j decode.Job, r private.Output) error {
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
	a, err := icl.Open(ctx, b.sides[0].model.Public(), p.For(t), p.Examples, icl.Options{Calibrate: p.Calibrated, Use: p.Evidence})
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
