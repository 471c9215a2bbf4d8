// Package rehearsal has what a rehearsal needs beside a run: records that stand in for private ones, and a comparison of
// what kinds of examples are worth on records that were held out. Nothing here sees a private record.
package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/icl"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Kinds of examples that a rehearsal compares.
const (
	// None is no examples, Own model-generated ones, Run those of the rehearsed run, Real the stand-in records
	// themselves, and Alone the run's evidence without a language model.
	None  = "none"
	Own   = "own"
	Run   = "run"
	Real  = "stand-in"
	Alone = "evidence"
	// Commonest is the commonest label of the stand-in records, always.
	Commonest = "commonest label"
)

// Row is what one kind of examples is worth on held-out records.
type Row struct {
	Examples string `json:"examples"`
	// Sets of them, of Shots examples each.
	Sets  int `json:"sets"`
	Shots int `json:"shots"`
	// Form in which they were asked: that of the run.
	Form prompt.Form `json:"form"`
	// Metric from 0 to 1, with a 95 % interval over held-out records and sets.
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`

	scores [][]float64
}

// Gain is what the run's examples are worth more than others, on the same records.
type Gain struct {
	Over       string  `json:"over"`
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

// Comparison asks held-out records with each kind of examples.
type Comparison struct {
	Task    prompt.Task
	Model   lm.Model
	Encoder lm.TrustedEmbedder
	// Chosen is the prompt of the run, in the Form in which all are asked; Evidence is the run's, if it has one.
	Chosen   prompt.Prompt
	Form     prompt.Form
	Evidence *evidence.Evidence
	// Records and those Held out; Own examples are model-generated. Invented: the records are too, and no kind of
	// their own.
	Records, Held, Own []prompt.Example
	Invented           bool
	// Sets to compare with, of Shots examples each. There are fewer, and fewer held-out records are asked, where the
	// time that is Left is short, unless their numbers are fixed.
	Sets, Shots          int
	FixedSets, FixedHeld bool
	Left                 func() time.Duration
	PassTokens           int
	// Key puts sets together. Begin is called before the records are asked.
	Key   noise.Key
	Begin func(held int)
}

// kind of examples, and the prompts with them.
type kind struct {
	name string
	with []prompt.Prompt
}

// Run compares, and keeps to the time.
func (c *Comparison) Run(ctx context.Context) (rows []Row, gains []Gain, err error) {
	kinds := c.kinds()
	if err := c.shorten(ctx, kinds); err != nil {
		return nil, nil, err
	}
	c.Begin(len(c.Held))
	for _, k := range kinds {
		with := k.with[:min(len(k.with), c.Sets)]
		if len(with) == 0 {
			continue
		}
		row := Row{Examples: k.name, Sets: len(with), Shots: len(with[0].Examples), Form: with[0].Form.Name(), Metric: c.metric()}
		for _, p := range with {
			scores, err := c.scores(ctx, p)
			if err != nil {
				return nil, nil, fmt.Errorf("ask with examples (%s): %w", k.name, err)
			}
			row.scores = append(row.scores, scores)
		}
		if err := row.sum(); err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
	}
	if reply.Listed(c.Task) {
		row := c.commonest()
		if err := row.sum(); err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
	}
	gains, err = gainsOf(rows)
	return rows, gains, err
}

func (c *Comparison) metric() string { return metric.Of(c.Task)[0] }

// Plain reports whether answers are calibrated where nothing was chosen.
func Plain(t prompt.Task, form prompt.Form) prompt.Prompt {
	return prompt.Prompt{Form: form, Calibrated: reply.Listed(t) && !form.Turns()}
}

// kinds lists the kinds of examples.
func (c *Comparison) kinds() []kind {
	plain := func(sets ...[]prompt.Example) (out []prompt.Prompt) {
		for _, s := range sets {
			p := Plain(c.Task, c.Form)
			p.Examples = s
			out = append(out, p)
		}
		return out
	}
	kinds := []kind{{None, plain(nil)}, {Own, plain(c.sets(c.Own)...)}, {Run, []prompt.Prompt{c.Chosen}}}
	if !c.Invented { // invented records are model-generated examples
		kinds = append(kinds, kind{Real, plain(c.sets(c.Records)...)})
	}
	if c.Evidence != nil {
		kinds = append(kinds, kind{Alone, []prompt.Prompt{{Form: c.Form, Evidence: prompt.Use{How: prompt.Alone}}}})
	}
	return kinds
}

// minHeld and timed: fewer records are not measured on, and so many show how long one takes.
const minHeld, timed = 24, 8

// shorten keeps to the time: fewer sets are compared, and fewer records asked, where all of them would take longer than
// what is left. How many prompts there are follows from the sets.
func (c *Comparison) shorten(ctx context.Context, kinds []kind) error {
	if c.FixedHeld && c.FixedSets {
		return nil
	}
	all := c.Held
	c.Held = all[:min(timed, len(all))]
	began := time.Now()
	_, err := c.scores(ctx, c.Chosen)
	each := time.Since(began).Seconds() / float64(len(c.Held))
	c.Held = all
	if err != nil {
		return fmt.Errorf("ask with examples (%s): %w", Run, err)
	}
	prompts := func() (n int) {
		for _, k := range kinds {
			if k.name != Alone {
				n += min(len(k.with), c.Sets)
			}
		}
		return n
	}
	room := max(1, c.Left().Seconds()/max(each, 1e-9)) // answers that there is time for
	for !c.FixedSets && c.Sets > 1 && float64(prompts()*len(all)) > room {
		c.Sets--
	}
	if !c.FixedHeld {
		c.Held = all[:min(len(all), max(minHeld, int(room)/max(1, prompts())))]
	}
	return nil
}

// commonest is what always saying the commonest label of the stand-in records is worth.
func (c *Comparison) commonest() Row {
	n, label := map[string]int{}, ""
	for _, e := range c.Records {
		if n[e.Output]++; label == "" || n[e.Output] > n[label] || n[e.Output] == n[label] && e.Output < label {
			label = e.Output
		}
	}
	scores := make([]float64, len(c.Held))
	for i, e := range c.Held {
		if e.Output == label {
			scores[i] = 1
		}
	}
	return Row{Examples: Commonest, Sets: 1, Metric: c.metric(), scores: [][]float64{scores}}
}

// sets puts examples together at random, with as many of each label as can be.
func (c *Comparison) sets(from []prompt.Example) (sets [][]prompt.Example) {
	var piles [][]prompt.Example
	at := map[string]int{}
	for _, e := range from {
		label := e.Output
		if c.Task.Open() {
			label = ""
		}
		i, there := at[label]
		if !there {
			i = len(piles)
			at[label] = i
			piles = append(piles, nil)
		}
		piles[i] = append(piles[i], e)
	}
	var dealt []prompt.Example
	for more := true; more; {
		more = false
		for i, p := range piles {
			if len(p) > 0 {
				dealt, piles[i], more = append(dealt, p[0]), p[1:], true
			}
		}
	}
	order := c.Key.Stream("sets")
	for len(dealt) >= c.Shots && len(sets) < c.Sets {
		set := dealt[:c.Shots:c.Shots]
		order.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		sets, dealt = append(sets, set), dealt[c.Shots:]
	}
	return sets
}

// scores returns the scores of the held-out records with a prompt.
func (c *Comparison) scores(ctx context.Context, p prompt.Prompt) (scores []float64, err error) {
	o := icl.Options{Form: p.Form, Calibrate: p.Calibrated, Use: p.Evidence, PassTokens: c.PassTokens, Nearest: p.Nearest, Encoder: c.Encoder}
	if p.Evidence.Used() {
		if o.Evidence, err = evidence.Open(c.Evidence, c.Encoder); err != nil {
			return nil, err
		}
	}
	a, err := icl.Open(ctx, c.Model, p.For(c.Task), p.Examples, o)
	if _, ok := errors.AsType[*lm.UnsupportedError](err); ok && o.Calibrate {
		o.Calibrate = false
		a, err = icl.Open(ctx, c.Model, p.For(c.Task), p.Examples, o)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	inputs := make([]string, len(c.Held))
	for i, e := range c.Held {
		inputs[i] = e.Input
	}
	answers, err := a.Answer(ctx, inputs)
	if err != nil {
		return nil, err
	}
	pairs := make([]metric.Pair, len(answers))
	for i, got := range answers {
		pairs[i] = metric.Pair{Want: c.Held[i].Output, Got: got}
	}
	m, err := metric.New(c.metric(), metric.Options{})
	if err != nil {
		return nil, err
	}
	return m.Score(ctx, pairs)
}

// sum adds the value and its interval to a row with scores.
func (r *Row) sum() error {
	for _, s := range r.scores {
		r.Value += stat.Mean(s) / float64(len(r.scores))
	}
	interval, err := stat.Crossed(r.scores, stat.Options{})
	in := interval.Within(0, 1)
	r.Low, r.High = in.Low, in.High
	return err
}

// gainsOf compares the run's examples with the others, on the same records.
func gainsOf(rows []Row) (gains []Gain, err error) {
	var ours []float64
	for _, row := range rows {
		if row.Examples == Run {
			ours = row.scores[0]
		}
	}
	for _, row := range rows {
		if row.Examples == Run {
			continue
		}
		pair := stat.PairedScores{B: row.scores}
		for range row.scores {
			pair.A = append(pair.A, ours)
		}
		c, err := stat.Compare(stat.Options{}, pair)
		if err != nil {
			return nil, err
		}
		in := c.Interval.Within(-1, 1)
		gains = append(gains, Gain{Over: row.Examples, Difference: c.Difference, Low: in.Low, High: in.High})
	}
	return gains, nil
}
