package private

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sort"
	"sync"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/lab/trainer"
	"github.com/sotto-dp/sotto/lab/trainer/logit"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// Source gives rows of a table, as *table.Data does.
type Source interface {
	Scan(ctx context.Context, columns []int, workers int, each func(worker int, b *table.Batch) error) error
}

// Release is a model that may be shown, with what it cost. Only [Train] makes one.
type Release struct {
	model *trainer.Logistic
	event privacy.Event
}

// Model is what was learnt.
func (r *Release) Model() *trainer.Logistic { return r.model }

// Event is what it cost.
func (r *Release) Event() privacy.Event { return r.event }

// Train fits a model to all rows of a source and adds noise. Package doc has the proof.
// The source must read numbers as the settings say (Discrete). It is held in memory: two
// to four bytes for each value.
//
// A key is for one model: another with the same key would have the same noise.
func Train(ctx context.Context, src Source, sch schema.Schema, s Settings, key noise.Key) (*Release, error) {
	s = s.WithDefaults()
	if err := s.Check(sch); err != nil {
		return nil, err
	}
	form, err := learn.NewForm(sch, s.Discrete)
	if err != nil {
		return nil, err
	}
	p := s.params(form)
	problem, err := load(ctx, src, form, s, p)
	if err != nil {
		return nil, err
	}
	if s.Method == Objective {
		if problem.Linear, err = s.linear(key, p.size); err != nil {
			return nil, err
		}
	}
	theta, err := minimise(ctx, problem, p, newtonSteps)
	if err != nil {
		return nil, err
	}
	if err := p.add(s, key, theta); err != nil {
		return nil, err
	}
	weights := make([][]float64, len(form.Classes()))
	for j := range theta {
		theta[j] *= p.entry // to features that are not scaled: post-processing
	}
	if p.outcomes == 1 {
		weights[0], weights[1] = make([]float64, form.Width()), theta
	} else {
		for k := range weights {
			weights[k] = theta[k*form.Width() : (k+1)*form.Width()]
		}
	}
	model, err := trainer.NewLogistic(form, weights)
	if err != nil {
		return nil, fmt.Errorf("noisy coefficients: %w", err)
	}
	return &Release{model: model, event: s.Event()}, nil
}

// add puts coefficients on the grid, adds noise and takes them off it.
func (p params) add(s Settings, key noise.Key, theta []float64) error {
	mechanism, err := p.mechanism(s)
	if err != nil {
		return err
	}
	steps := make([]int64, len(theta))
	for j, t := range theta {
		if steps[j], err = mechanism.Grid().Round(t); err != nil {
			return fmt.Errorf("putting coefficients on the grid: %w", err)
		}
	}
	if err := mechanism.AddTo(key.Stream("logistic regression, coefficients"), steps); err != nil {
		return fmt.Errorf("the noise of coefficients: %w", err)
	}
	for j, n := range steps {
		theta[j] = mechanism.Grid().Float(n)
	}
	return nil
}

// newtonSteps is how many are tried before plain descent.
const newtonSteps = 100

// minimise finds θ with ‖∇J(θ)‖ ≤ τ and ‖θ‖ ≤ 2·Radius, for every table.
func minimise(ctx context.Context, problem *logit.Problem, p params, steps int) ([]float64, error) {
	enough := p.tolerance - p.rounding
	// Far below what is needed costs Newton's method a step or two.
	found, err := problem.Newton(ctx, enough/16, steps)
	if err != nil {
		return nil, err
	}
	left := problem.Careful(found.Theta, make([]float64, problem.Size()))
	if left <= enough && within(found.Theta, 2*p.limits.Radius()) {
		return found.Theta, nil
	}
	zero := logit.Result{Theta: make([]float64, problem.Size())}
	found, err = problem.Descend(ctx, zero, p.limits.Smooth(), enough)
	return found.Theta, err
}

func within(theta []float64, radius float64) bool {
	var sum float64
	for _, t := range theta {
		sum += t * t
	}
	return sum <= radius*radius
}

// load reads all rows into a problem, in the order of the source.
func load(ctx context.Context, src Source, form *learn.Form, s Settings, p params) (*logit.Problem, error) {
	l := &batchLoader{form: form, settings: s, inputs: form.Inputs(), label: newLabel(form.Schema())}
	columns := []int{l.label.place}
	for _, in := range l.inputs {
		columns = append(columns, in.Place)
	}
	err := src.Scan(ctx, columns, runtime.GOMAXPROCS(0), func(_ int, b *table.Batch) error { return l.keep(b) })
	if err != nil {
		return nil, fmt.Errorf("reading rows to learn from: %w", err)
	}
	sort.Slice(l.batches, func(i, j int) bool { return l.batches[i].first < l.batches[j].first })
	return l.problem(p), nil
}

// batchLoader gathers batches.
type batchLoader struct {
	form     *learn.Form
	settings Settings
	inputs   []learn.Input
	label    label

	mu      sync.Mutex
	rows    int64
	batches []batchCopy
}

// batchCopy is a copy of a batch.
type batchCopy struct {
	first   int64
	classes []uint16
	columns []table.Vector
}

// errTooMany does not say how many there are.
var errTooMany = errors.New("the table has more than 16 times the declared number of rows: declare its size, about")

func (l *batchLoader) keep(b *table.Batch) error {
	if b.Units != nil {
		return errors.New("the source has units, and the guarantee is for rows that are units themselves: open it without")
	}
	k := batchCopy{first: b.First, classes: l.label.classes(b.Columns[0], b.Rows)}
	for i, in := range l.inputs {
		v := b.Columns[i+1]
		if in.Discrete != (v.Codes != nil) {
			return errors.New("the source reads numbers in another way than the settings say: open it with the same setting for bins")
		}
		var c table.Vector
		if in.Discrete {
			c.Codes = append([]uint16(nil), v.Codes[:b.Rows]...)
		} else {
			c.Steps = append([]int32(nil), v.Steps[:b.Rows]...)
		}
		k.columns = append(k.columns, c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rows += int64(b.Rows); l.rows > l.settings.MaxRows() {
		return errTooMany
	}
	l.batches = append(l.batches, k)
	return nil
}

// problem joins the batches, and drops them as it goes.
func (l *batchLoader) problem(p params) *logit.Problem {
	out := &logit.Problem{
		Width: l.form.Width(), Outcomes: p.outcomes, Workers: runtime.GOMAXPROCS(0),
		Columns: []logit.Column{{Scale: p.entry}}, Ridge: make([]float64, l.form.Width()),
	}
	for j := range out.Ridge {
		out.Ridge[j] = l.settings.Ridge
	}
	for _, in := range l.inputs {
		c := logit.Column{Offset: in.Offset, Scale: p.entry}
		if in.Discrete {
			c.Codes = make([]uint16, 0, l.rows)
		} else {
			c.Steps, c.Scale = make([]int32, 0, l.rows), p.entry/table.Steps
		}
		out.Columns = append(out.Columns, c)
	}
	for i, k := range l.batches {
		out.Rows += len(k.classes)
		out.Classes = append(out.Classes, k.classes...)
		for c, from := range k.columns {
			to := &out.Columns[c+1]
			to.Codes, to.Steps = append(to.Codes, from.Codes...), append(to.Steps, from.Steps...)
		}
		l.batches[i] = batchCopy{}
	}
	return out
}

// label turns the label's column into classes.
type label struct {
	place int
	edges []int32
}

func newLabel(s schema.Schema) label {
	l := label{place: s.LabelColumn()}
	c := s.Columns[l.place]
	for _, e := range c.Edges {
		l.edges = append(l.edges, table.NewScale(c).Steps(e))
	}
	return l
}

func (l label) classes(v table.Vector, rows int) []uint16 {
	out := make([]uint16, rows)
	if v.Codes != nil {
		copy(out, v.Codes[:rows])
		return out
	}
	for i, steps := range v.Steps[:rows] {
		for _, e := range l.edges {
			if steps >= e {
				out[i]++
			}
		}
	}
	return out
}
