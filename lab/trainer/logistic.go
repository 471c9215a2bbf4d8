package trainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/lab/trainer/logit"
	"github.com/sotto-dp/sotto/schema"
)

// Classifier returns how probable the classes of a row are; the row's own label is not
// looked at.
type Classifier interface {
	// Probabilities appends one for each class.
	Probabilities(r schema.Row, to []float64) ([]float64, error)
}

// LogisticOptions say how to fit.
type LogisticOptions struct {
	// Ridge is the penalty λ: ½λ times the sum of squares of all coefficients but the
	// constants is added to the sum of losses. 0 means 1.
	Ridge float64
	// Total scales the weights to this sum, for a table of probabilities: the number of
	// rows that they stand for. 0 leaves them.
	Total float64
}

// Logistic is a logistic model: the probability of class k is in proportion to
// exp(Σ_j Weights[k][j]·x_j), x the features of the row.
type Logistic struct {
	form    *learn.Form
	weights [][]float64
}

// NewLogistic makes a model of known weights: for each class a list of one for each
// feature of the form, or nil for a class that never comes.
func NewLogistic(f *learn.Form, weights [][]float64) (*Logistic, error) {
	if len(weights) != len(f.Classes()) {
		return nil, fmt.Errorf("weights for %d classes, and there are %d: give a list for each", len(weights), len(f.Classes()))
	}
	some := false
	for k, w := range weights {
		if w == nil {
			continue
		}
		if some = true; len(w) != f.Width() {
			return nil, fmt.Errorf("class %d has %d weights, and there are %d features: give one for each", k, len(w), f.Width())
		}
		for _, v := range w {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("class %d has a weight of %v: weights are finite numbers", k, v)
			}
		}
	}
	if !some {
		return nil, errors.New("no class has weights: give them for one class at least")
	}
	return &Logistic{form: f, weights: weights}, nil
}

// Weights of the features, for each class; nil for a class that never came.
func (m *Logistic) Weights() [][]float64 { return m.weights }

// Probabilities implements [Classifier].
func (m *Logistic) Probabilities(r schema.Row, to []float64) ([]float64, error) {
	n := len(to)
	for _, w := range m.weights {
		score := math.Inf(-1)
		if w != nil {
			score = w[0]
		}
		to = append(to, score)
	}
	scores := to[n:]
	err := m.form.Entries(r, func(feature int, value float64) {
		for k, w := range m.weights {
			if w != nil {
				scores[k] += w[feature] * value
			}
		}
	})
	learn.Softmax(scores)
	return to, err
}

const (
	// maxParameters bounds the time of a step, which grows with the cube.
	maxParameters = 4096
	// newtonSteps bounds the steps of Newton's method.
	newtonSteps = 200
)

// FitLogistic minimises the sum of logistic losses and the ridge. The result is the same
// for the same rows in the same order, on any number of threads.
//
// A class without rows has probability 0, and if there is but one class with rows it has
// probability 1: their constants have no finite best value.
func FitLogistic(ctx context.Context, t *Table, o LogisticOptions) (*Logistic, error) {
	o.Ridge = cmp.Or(o.Ridge, 1)
	if !(o.Ridge > 0) || math.IsInf(o.Ridge, 1) || !(o.Total >= 0) || math.IsInf(o.Total, 1) {
		return nil, errors.New("fitting needs a ridge above 0 and a total of 0 or more")
	}
	if t.total == 0 {
		return nil, errors.New("there is no row to learn from: add rows with weights above 0")
	}
	present, rank := t.present()
	weights := make([][]float64, len(t.form.Classes()))
	if len(present) == 1 {
		weights[present[0]] = make([]float64, t.form.Width())
		return NewLogistic(t.form, weights)
	}
	p := t.problem(o, rank, len(present))
	if p.Size() > maxParameters {
		return nil, fmt.Errorf("%d features and classes are more than the %d that can be fitted: use fewer columns, or coarser values", p.Size(), maxParameters)
	}
	// Rounding leaves a gradient of about 1e-16 times the sum of weights.
	found, err := p.Newton(ctx, 1e-11*(t.total*scaling(t, o)+o.Ridge), newtonSteps)
	if err != nil {
		return nil, err
	}
	if limit := 1e-5 * (t.total*scaling(t, o) + o.Ridge); !(found.Gradient <= limit) {
		return nil, fmt.Errorf("the fit did not converge within %d steps: raise the ridge", newtonSteps)
	}
	for k, class := range present {
		if p.Outcomes == 1 {
			weights[present[0]], weights[present[1]] = make([]float64, t.form.Width()), found.Theta
			break
		}
		weights[class] = found.Theta[k*p.Width : (k+1)*p.Width]
	}
	return NewLogistic(t.form, weights)
}

func scaling(t *Table, o LogisticOptions) float64 {
	if o.Total == 0 {
		return 1
	}
	return o.Total / t.total
}

// present lists the classes that have rows, and gives each class its place among them.
func (t *Table) present() (present []int, rank []uint16) {
	has := make([]bool, len(t.form.Classes()))
	for _, c := range t.classes {
		has[c] = true
	}
	rank = make([]uint16, len(has))
	for c, ok := range has {
		if ok {
			rank[c] = uint16(len(present))
			present = append(present, c)
		}
	}
	return present, rank
}

func (t *Table) problem(o LogisticOptions, rank []uint16, classes int) *logit.Problem {
	p := &logit.Problem{
		Rows: t.Len(), Width: t.form.Width(), Outcomes: classes, Pin: o.Ridge,
		Weights: t.weights, Ridge: make([]float64, t.form.Width()), Workers: runtime.GOMAXPROCS(0),
	}
	if classes == 2 {
		p.Outcomes = 1
	}
	for j := 1; j < len(p.Ridge); j++ {
		p.Ridge[j] = o.Ridge
	}
	if s := scaling(t, o); s != 1 {
		p.Weights = make([]float64, len(t.weights))
		for i, w := range t.weights {
			p.Weights[i] = w * s
		}
	}
	p.Classes = make([]uint16, t.Len())
	for i, c := range t.classes {
		p.Classes[i] = rank[c]
	}
	p.Columns = append(p.Columns, logit.Column{Scale: 1})
	for c, col := range t.inputs {
		p.Columns = append(p.Columns, logit.Column{Offset: col.Offset, Codes: t.codes[c], Numbers: t.numbers[c], Scale: 1})
	}
	return p
}
