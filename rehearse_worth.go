package sotto

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
	"github.com/sotto-dp/sotto/prompt"
)

// Kinds of examples that a rehearsal compares.
const (
	// RehearsedNone is no examples, RehearsedOwn model-generated ones, RehearsedRun those of the
	// rehearsed run, RehearsedReal the stand-in records themselves, and RehearsedAlone the run's evidence
	// without a language model.
	RehearsedNone  = "none"
	RehearsedOwn   = "own"
	RehearsedRun   = "run"
	RehearsedReal  = "stand-in"
	RehearsedAlone = "evidence"
	// RehearsedCommonest is the commonest label of the stand-in records, always.
	RehearsedCommonest = "commonest label"
)

// RehearsedRow is what one kind of examples is worth on held-out records.
type RehearsedRow struct {
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

// RehearsedGain is what the run's examples are worth more than others, on the same records.
type RehearsedGain struct {
	Over       string  `json:"over"`
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

// compare asks the held-out questions with each kind of examples.
func (r *rehearsing) compare(ctx context.Context) error {
	form := prompt.Form("")
	if c := r.real.Choose; c != nil {
		form = c.Form
	}
	listed := reply.Listed(r.Request.Task) && !form.Turns()
	plain := func(sets ...[]prompt.Example) (out []prompt.Prompt) {
		for _, s := range sets {
			out = append(out, prompt.Prompt{Examples: s, Form: form, Calibrated: listed})
		}
		return out
	}
	shots := r.real.Shots
	if c := r.real.Choose; c != nil {
		shots = c.Shots
	}
	came := prompt.Prompt{Form: form, Calibrated: listed}
	if r.result.Prompt != nil {
		came = *r.result.Prompt
	} else {
		for _, e := range r.result.Examples {
			came.Examples = append(came.Examples, prompt.Example(e))
		}
	}
	if err := r.imagine(ctx, shots); err != nil {
		return err
	}
	type kind struct {
		name string
		with []prompt.Prompt
	}
	kinds := []kind{{RehearsedNone, plain(nil)}, {RehearsedOwn, plain(r.sets(r.own, shots)...)}, {RehearsedRun, []prompt.Prompt{came}}}
	if !r.result.Invented { // invented records are model-generated examples
		kinds = append(kinds, kind{RehearsedReal, plain(r.sets(r.records, shots)...)})
	}
	if r.result.Evidence != nil {
		kinds = append(kinds, kind{RehearsedAlone, []prompt.Prompt{{Form: form, Evidence: prompt.Use{How: prompt.Alone}}}})
	}
	if err := r.shorten(ctx, came, func() (n int) {
		for i, k := range kinds {
			kinds[i].with = k.with[:min(len(k.with), r.Sets)]
			if k.name != RehearsedAlone {
				n += len(kinds[i].with)
			}
		}
		return n
	}); err != nil {
		return err
	}
	r.note("%d records that were held out are asked, with each kind of examples", len(r.held))
	for _, k := range kinds {
		if len(k.with) == 0 {
			continue
		}
		row, err := r.row(ctx, k.name, k.with)
		if err != nil {
			return err
		}
		r.result.Rows = append(r.result.Rows, row)
	}
	if err := r.commonest(); err != nil {
		return err
	}
	return r.gains()
}

// leastItems and paceItems: fewer records are not measured on, and so many show how long one takes.
const leastItems, paceItems = 24, 8

// shorten keeps to the time: fewer sets are compared, and fewer records asked, where all of them would take longer than
// what is left. How many prompts there are follows from the sets.
func (r *rehearsing) shorten(ctx context.Context, came prompt.Prompt, prompts func() int) error {
	if r.asked.Items > 0 && r.asked.Sets > 0 {
		return nil
	}
	all := r.held
	r.held = all[:min(paceItems, len(all))]
	began := time.Now()
	_, err := r.scores(ctx, came, metric.Of(r.Request.Task)[0])
	each := time.Since(began).Seconds() / float64(len(r.held))
	r.held = all
	if err != nil {
		return fmt.Errorf("ask with examples (%s): %w", RehearsedRun, err)
	}
	room := max(1, r.left().Seconds()/max(each, 1e-9)) // answers that there is time for
	for r.asked.Sets == 0 && r.Sets > 1 && float64(prompts()*len(all)) > room {
		r.Sets--
	}
	if r.asked.Items == 0 {
		r.held = all[:min(len(all), max(leastItems, int(room)/max(1, prompts())))]
		r.result.Items = len(r.held)
	}
	return nil
}

// commonest adds what always saying the commonest label of the stand-in records is worth.
func (r *rehearsing) commonest() error {
	if !reply.Listed(r.Request.Task) {
		return nil
	}
	n, most := map[string]int{}, ""
	for _, e := range r.records {
		if n[e.Output]++; most == "" || n[e.Output] > n[most] || n[e.Output] == n[most] && e.Output < most {
			most = e.Output
		}
	}
	scores := make([]float64, len(r.held))
	for i, e := range r.held {
		if e.Output == most {
			scores[i] = 1
		}
	}
	row := RehearsedRow{Examples: RehearsedCommonest, Sets: 1, Metric: metric.Of(r.Request.Task)[0], Value: stat.Mean(scores), scores: [][]float64{scores}}
	interval, err := stat.Crossed(row.scores, stat.Options{})
	if err != nil {
		return err
	}
	interval = interval.Within(0, 1)
	row.Low, row.High = interval.Low, interval.High
	r.result.Rows = append(r.result.Rows, row)
	return nil
}

// imagine has the model write examples of its own, unless it invented the records.
func (r *rehearsing) imagine(ctx context.Context, shots int) (err error) {
	if r.own != nil || r.Request.Task.Open() && len(r.Request.Conditions) == 0 && len(r.Request.Task.Conditions) == 0 {
		return nil // labels are discovered: there is nothing that it could write for
	}
	r.own, err = r.invent(ctx, "own", 2, r.Sets*shots)
	return err
}

// sets puts examples together at random, with as many of each label as can be.
func (r *rehearsing) sets(from []prompt.Example, shots int) (sets [][]prompt.Example) {
	var piles [][]prompt.Example
	at := map[string]int{}
	for _, e := range from {
		label := e.Output
		if r.Request.Task.Open() {
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
	order := r.key.Stream("sets")
	for len(dealt) >= shots && len(sets) < r.Sets {
		set := dealt[:shots:shots]
		order.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		sets, dealt = append(sets, set), dealt[shots:]
	}
	return sets
}

// row asks with each of some prompts.
func (r *rehearsing) row(ctx context.Context, name string, with []prompt.Prompt) (RehearsedRow, error) {
	row := RehearsedRow{Examples: name, Sets: len(with), Shots: len(with[0].Examples), Form: with[0].Form.Name(), Metric: metric.Of(r.Request.Task)[0]}
	for _, p := range with {
		scores, err := r.scores(ctx, p, row.Metric)
		if err != nil {
			return row, fmt.Errorf("ask with examples (%s): %w", name, err)
		}
		row.scores = append(row.scores, scores)
		row.Value += stat.Mean(scores) / float64(len(with))
	}
	interval, err := stat.Crossed(row.scores, stat.Options{})
	if err != nil {
		return row, err
	}
	interval = interval.Within(0, 1)
	row.Low, row.High = interval.Low, interval.High
	return row, nil
}

// scores returns the scores of the held-out records.
func (r *rehearsing) scores(ctx context.Context, p prompt.Prompt, name string) (scores []float64, err error) {
	var demos []prompt.Example
	for _, e := range p.Examples {
		demos = append(demos, prompt.Example(e))
	}
	o := icl.Options{Form: p.Form, Calibrate: p.Calibrated, Use: p.Evidence, PassTokens: r.PassTokens}
	if p.Evidence.Used() {
		if o.Evidence, err = evidence.Open(r.result.Evidence, r.call.encoder); err != nil {
			return nil, err
		}
	}
	o.Nearest, o.Encoder = p.Nearest, r.call.encoder
	a, err := icl.Open(ctx, r.model.Public(), p.For(r.Request.Task), demos, o)
	if _, ok := errors.AsType[*lm.UnsupportedError](err); ok && o.Calibrate {
		o.Calibrate = false
		a, err = icl.Open(ctx, r.model.Public(), p.For(r.Request.Task), demos, o)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	inputs := make([]string, len(r.held))
	for i, e := range r.held {
		inputs[i] = e.Input
	}
	answers, err := a.Answer(ctx, inputs)
	if err != nil {
		return nil, err
	}
	pairs := make([]metric.Pair, len(answers))
	for i, got := range answers {
		pairs[i] = metric.Pair{Want: r.held[i].Output, Got: got}
	}
	m, err := metric.New(name, metric.Options{})
	if err != nil {
		return nil, err
	}
	return m.Score(ctx, pairs)
}

// gains compares the run's examples with the others, on the same records.
func (r *rehearsing) gains() error {
	var ours [][]float64
	for _, row := range r.result.Rows {
		if row.Examples == RehearsedRun {
			ours = row.scores
		}
	}
	for _, row := range r.result.Rows {
		if row.Examples == RehearsedRun {
			continue
		}
		pair := stat.Paired{B: row.scores}
		for range row.scores {
			pair.A = append(pair.A, ours[0])
		}
		c, err := stat.Compare(stat.Options{}, pair)
		if err != nil {
			return err
		}
		in := c.Interval.Within(-1, 1)
		r.result.Gains = append(r.result.Gains, RehearsedGain{Over: row.Examples, Difference: c.Difference, Low: in.Low, High: in.High})
	}
	return nil
}
