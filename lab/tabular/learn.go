package tabular

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/lab/trainer"
	"github.com/sotto-dp/sotto/schema"
)

// LearnOptions configure which baseline answers, and what it learns from.
type LearnOptions struct {
	// Model is majority, lr, gnb (naive Bayes with normal laws) or nb (with frequencies of
	// discrete columns); lr-local or gnb-local, which learn from Local; or lr-private or
	// nb-private, which have an ε of their own.
	Model string
	Local *Distribution
	// Epsilon, Delta and the declared Size are for private ones.
	Epsilon, Delta float64
	Size           int64
	Seed           uint64
}

// Predictions holds a baseline's predictions for the test rows.
type Predictions struct {
	// Answers in words, and how probable all of them are, in the order of the label's values.
	Answers       []string
	Probabilities [][]float64
	// Guarantee is nil where nothing protects the training rows.
	Guarantee *Guarantee
}

// Learn answers the test rows by a baseline that learns from the training rows, without a
// language model.
func Learn(ctx context.Context, t *Table, o LearnOptions) (*Predictions, error) {
	form, err := learn.NewForm(t.Schema, t.Discrete)
	if err != nil {
		return nil, err
	}
	var c trainer.Classifier
	var g *Guarantee
	name, from, _ := strings.Cut(o.Model, "-")
	switch {
	case o.Model == "majority":
		c, err = newMajority(form, t.Train)
	case o.Model == "lr-private":
		c, g, err = privateLogistic(ctx, t, o)
	case o.Model == "nb-private":
		c, g, err = privateBayes(ctx, t, form, o)
	case from == "private":
		err = fmt.Errorf("there is no private baseline %q: use lr-private or nb-private", o.Model)
	default:
		c, g, err = seen(ctx, t, form, name, o)
	}
	if err != nil {
		return nil, err
	}
	out := &Predictions{Guarantee: g}
	return out, out.predict(c, t)
}

// seen learns from rows that may be seen: as they are, or drawn from a distribution that
// was learned from perturbed ones.
func seen(ctx context.Context, t *Table, form *learn.Form, name string, o LearnOptions) (trainer.Classifier, *Guarantee, error) {
	rows := trainer.NewTable(form)
	var g *Guarantee
	total := 0.0
	if l := o.Local; l != nil {
		g, total = l.Guarantee, float64(l.Estimate.Rows)
		if err := l.weigh(rows.Add); err != nil {
			return nil, nil, err
		}
	} else {
		for _, row := range t.Train {
			if err := rows.Add(row, 1); err != nil {
				return nil, nil, err
			}
		}
		rows = rows.Merged()
	}
	switch name {
	case "lr":
		m, err := trainer.FitLogistic(ctx, rows, trainer.LogisticOptions{Total: total})
		return m, g, err
	case "gnb", "nb":
		m, err := learn.NewNaiveBayes(form, rows.Moments(), learn.NaiveBayesOptions{Gaussian: name == "gnb"})
		return m, g, err
	}
	return nil, nil, fmt.Errorf("there is no baseline %q: use majority, lr, gnb or nb", name)
}

// weigh hands out the rows of the distribution with their probabilities.
func (d *Distribution) weigh(add func(schema.Row, float64) error) error {
	var codes []uint16
	for cell, p := range d.Estimate.Cells {
		if p == 0 {
			continue
		}
		codes = d.Estimate.Codes(cell, codes[:0])
		row := make(schema.Row, len(d.schema.Columns))
		for i, column := range d.Estimate.Columns {
			row[column] = schema.Value{Code: int(codes[i]), Discrete: true}
		}
		if err := add(row, p); err != nil {
			return err
		}
	}
	return nil
}

// majority predicts the most common label.
type majority []float64

func newMajority(form *learn.Form, rows []schema.Row) (majority, error) {
	m := make(majority, len(form.Classes()))
	for _, row := range rows {
		k, err := form.Class(row)
		if err != nil {
			return nil, err
		}
		m[k] += 1 / float64(len(rows))
	}
	return m, nil
}

// Probabilities returns the shares of the classes, whatever the row is.
func (m majority) Probabilities(_ schema.Row, to []float64) ([]float64, error) {
	return append(to, m...), nil
}

// predict answers the test rows: what is most probable, the first of those that are equally.
func (l *Predictions) predict(c trainer.Classifier, t *Table) error {
	words, label := t.Schema.Wording(), t.Schema.LabelColumn()
	for _, row := range t.Test {
		p, err := c.Probabilities(row, nil)
		if err != nil {
			return err
		}
		answer := slices.Clone(row)
		answer[label] = schema.Value{Code: slices.Index(p, slices.Max(p)), Discrete: true}
		l.Answers, l.Probabilities = append(l.Answers, words.Answer(answer)), append(l.Probabilities, p)
	}
	return nil
}
