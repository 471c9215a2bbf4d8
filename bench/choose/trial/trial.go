// Package trial runs the search for a prompt on public data sets, and measures the winner
// of every round on test items. It is for choosing settings: its randomness comes from
// seeds, so its results protect nobody.
package trial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/metric"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/search"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Settings of a search.
type Settings struct {
	Name    string  `json:"name"`
	Epsilon float64 `json:"epsilon"`
	// Records a round, in First and later rounds.
	Records int64 `json:"records"`
	Rounds  int64 `json:"rounds"`
	// First and Next are the numbers of sets that a round proposes.
	First int `json:"first"`
	Next  int `json:"next"`
	// Pool of the model's own texts, Shots to begin with and Most.
	Pool         int            `json:"pool"`
	Shots        int            `json:"shots"`
	Most         int            `json:"most"`
	Heats        int64          `json:"heats"`
	Work         float64        `json:"work"`
	Utility      choose.Utility `json:"utility"`
	Instructions []string       `json:"instructions"`
	// Temperature of the pool's texts.
	Temperature float64 `json:"temperature"`
}

// Dataset is a data set on disk.
type Dataset struct {
	Name  string
	Task  prompt.Task
	Size  int64
	Items []eval.Item
	data  *record.Data
}

// sizes of the train files.
var sizes = map[string]int64{"agnews": 27632, "dbpedia": 15274, "trec": 5452, "mit-g": 2953, "mit-d": 1561, "samsum": 14732, "e2e": 42061, "wikilarge": 11468}

// Load opens a data set of a folder.
func Load(ctx context.Context, folder, name string, items int, private string) (*Dataset, error) {
	t, err := prompt.Find(name)
	if err != nil {
		return nil, err
	}
	t = t.WithDefaults()
	d := &Dataset{Name: name, Task: t, Size: sizes[name]}
	if d.Items, err = eval.ReadItems(filepath.Join(folder, name, "test.jsonl.gz"), t); err != nil {
		return nil, err
	}
	step := max(1, len(d.Items)/items)
	var some []eval.Item
	for i := 0; i < len(d.Items) && len(some) < items; i += step {
		some = append(some, d.Items[i])
	}
	d.Items = some
	o := record.Options{Text: t.Text, Condition: t.Label, Aliases: t.Aliases, OneLine: t.OneLine() && t.Kind != prompt.Generate, Private: private, OnError: record.Skip}
	if !t.Open() {
		o.Labels, o.Together = t.Labels, true
	}
	if err := os.MkdirAll(private, 0o700); err != nil {
		return nil, err
	}
	d.data, err = record.Open(ctx, filepath.Join(folder, name, "train.jsonl.gz"), o)
	return d, err
}

// Result of a trial.
type Result struct {
	Settings
	Dataset string    `json:"dataset"`
	Seed    uint64    `json:"seed"`
	Range   float64   `json:"range"`
	Drawn   float64   `json:"drawn"`
	History []Round   `json:"by_round"`
	Tokens  int64     `json:"tokens"`
	Zero    float64   `json:"zero"`
	Own     []float64 `json:"own"`
	Real    []float64 `json:"real"`
}

// Round is the result of a round's winner.
type Round struct {
	Score      float64 `json:"score"`
	Shots      int     `json:"shots"`
	Calibrated bool    `json:"calibrated"`
	// Tokens that went through the model up to here, those that shared prefixes saved, and
	// the time that the rounds took.
	Tokens  int64   `json:"tokens"`
	Saved   int64   `json:"saved"`
	Seconds float64 `json:"seconds"`
}

// Plan returns the plan of the settings. The pool is the model's own, so all of ε is spent
// on choosing.
func Plan(s Settings, d *Dataset) (plan.Plan, error) {
	return plan.New(plan.Request{Task: d.Task, Epsilon: s.Epsilon, Size: d.Size, Settings: method.Values{"temperature": s.Temperature}.Given(), Choosing: &plan.Choosing{
		Pool: s.Pool, Rounds: s.Rounds, Records: s.Records, First: s.First, Next: s.Next, Heats: s.Heats, Shots: s.Shots, Most: s.Most,
		Utility: s.Utility, Work: s.Work, Instructions: s.Instructions, Writing: -1, Measuring: -1,
	}})
}

// Pool writes the model's own examples.
func Pool(ctx context.Context, m lm.Trusted, t prompt.Task, n int, temperature float64, seed uint64) ([]prompt.Example, error) {
	w, err := decode.NewWriter(decode.Options{Model: m, Task: t, Key: noise.KeyFromSeed(seed), Rules: plan.DefaultRules(t), Parallel: n})
	if err != nil {
		return nil, err
	}
	list := t.Labels
	if t.Open() {
		list = t.Conditions
	}
	var jobs []decode.Job
	for i := range n {
		jobs = append(jobs, decode.Job{Text: draw.Text{Index: uint64(i)}, Condition: list[i%len(list)], Method: &decode.Public{Temperature: temperature, Candidates: 100}})
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

// Score returns the score of a prompt on the test items.
func Score(ctx context.Context, m lm.Scorer, d *Dataset, p prompt.Prompt, pass int) (float64, error) {
	var demos []icl.Demo
	for _, e := range p.Examples {
		demos = append(demos, icl.Demo(e))
	}
	a, err := icl.Open(ctx, m, p.For(d.Task), demos, icl.Options{Calibrate: p.Calibrated, PassTokens: pass})
	if err != nil {
		return 0, err
	}
	defer a.Close()
	inputs := make([]string, len(d.Items))
	for i, item := range d.Items {
		inputs[i] = item.Input
	}
	answers, err := a.Answer(ctx, inputs)
	if err != nil {
		return 0, err
	}
	pairs := make([]metric.Pair, len(d.Items))
	for i, item := range d.Items {
		pairs[i] = metric.Pair{Want: item.Output, Got: answers[i]}
	}
	by, err := metric.New(metric.For(d.Task.Kind)[0], metric.Options{})
	if err != nil {
		return 0, err
	}
	value, err := by.Value(ctx, pairs)
	return 100 * value, err
}

// Run searches once.
func Run(ctx context.Context, m lm.Trusted, d *Dataset, s Settings, seed uint64, pass int) (*Result, error) {
	p, err := Plan(s, d)
	if err != nil {
		return nil, err
	}
	c := p.Choose
	pool, err := Pool(ctx, m, d.Task, p.Shots, s.Temperature, seed)
	if err != nil {
		return nil, err
	}
	key := noise.KeyFromSeed(seed)
	out := &Result{Settings: s, Dataset: d.Name, Seed: seed, Range: c.Range, Drawn: c.Draw.Expected(d.Size)}
	var last lm.Usage
	var saved int64
	var took time.Duration
	ch, err := choose.New(ctx, choose.Options{Model: m, Task: d.Task, Pool: d.data, Key: key, Choice: c.Choice, PassTokens: pass, Prompts: prompts(pass), Usage: func(u lm.Usage) { last = u }})
	if err != nil {
		return nil, err
	}
	space := search.Space{Pool: pool, Instructions: c.Instructions, Shots: c.Shots, MaxShots: c.Most}
	if !d.Task.Open() && d.Task.Kind != prompt.Generate {
		space.Labels = d.Task.Labels
	}
	var winners []search.Point
	for round := range c.Rounds {
		points, err := space.Propose(c.Schedule(), winners, key.Stream("search", uint64(round)))
		if err != nil {
			return nil, err
		}
		began := time.Now()
		won, err := ch.Round(ctx, round, space.Prompts(points))
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", round, err)
		}
		took += time.Since(began)
		out.Tokens += last.Computed
		saved += last.Cached
		w := points[won.Winner]
		winners = append(winners, w)
		value, err := Score(ctx, m.Public(), d, space.Prompt(w), pass)
		if err != nil {
			return nil, err
		}
		out.History = append(out.History, Round{Score: value, Shots: len(w.Set), Calibrated: w.Calibrated, Tokens: out.Tokens, Saved: saved, Seconds: took.Seconds()})
	}
	return out, nil
}

// prompts that are held at once: all of them on a GPU.
func prompts(pass int) int {
	if pass > 0 {
		return 64
	}
	return 0
}

// Baselines returns what no examples, the model's own and real records are worth: means
// over sets.
func Baselines(ctx context.Context, m lm.Trusted, d *Dataset, train []eval.Item, sets, shots int, seed uint64, pass int) (*Result, error) {
	closed := !d.Task.Open() && d.Task.Kind != prompt.Generate
	out := &Result{Dataset: d.Name, Seed: seed}
	var err error
	if out.Zero, err = Score(ctx, m.Public(), d, prompt.Prompt{Calibrated: closed}, pass); err != nil {
		return nil, err
	}
	pool, err := Pool(ctx, m, d.Task, 48, 1, seed)
	if err != nil {
		return nil, err
	}
	var real []prompt.Example
	r := noise.KeyFromSeed(seed).Stream("real")
	order, err := r.Permutation(len(train))
	if err != nil {
		return nil, err
	}
	for _, i := range order[:min(len(order), 400)] {
		real = append(real, prompt.Example{Input: train[i].Input, Output: train[i].Output})
	}
	for i := range sets {
		for _, side := range []struct {
			pool []prompt.Example
			to   *[]float64
		}{{pool, &out.Own}, {real, &out.Real}} {
			space := search.Space{Pool: side.pool, Shots: shots, MaxShots: shots}
			if closed {
				space.Labels = d.Task.Labels
			}
			points, err := space.First(1, noise.KeyFromSeed(seed).Stream("sets", uint64(i)))
			if err != nil {
				return nil, err
			}
			p := points[len(points)-1]
			value, err := Score(ctx, m.Public(), d, space.Prompt(p), pass)
			if err != nil {
				return nil, err
			}
			*side.to = append(*side.to, value)
		}
	}
	return out, nil
}

// For fills in what follows from the task.
func (s Settings) For(t prompt.Task) Settings {
	if choose.Suits(s.Utility, t) != nil {
		s.Utility = ""
	}
	if s.Temperature == 0 {
		s.Temperature = 1
	}
	return s
}
