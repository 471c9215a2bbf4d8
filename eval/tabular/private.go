package tabular

import (
	"context"
	"fmt"

	"sotto/eval"
	"sotto/learn"
	"sotto/plan"
	"sotto/privacy"
	"sotto/privacy/noise"
	"sotto/private/table/global"
	secret "sotto/private/table/learn"
	"sotto/schema"
)

// private learns with an ε of its own.
func private(ctx context.Context, t *eval.Table, form *learn.Form, o LearnOptions) (learn.Classifier, *Guarantee, error) {
	switch o.Model {
	case "lr-private":
		return privateLogistic(ctx, t, o)
	case "gnb-private":
		return privateBayes(ctx, t, form, o)
	}
	return nil, nil, fmt.Errorf("there is no private baseline %q: say lr-private or gnb-private", o.Model)
}

// privateLogistic adds noise to the coefficients.
func privateLogistic(ctx context.Context, t *eval.Table, o LearnOptions) (learn.Classifier, *Guarantee, error) {
	s, err := secret.New(secret.Request{Schema: t.Schema, Discrete: t.Discrete, Epsilon: o.Epsilon, Delta: o.Delta, Size: o.Size})
	if err != nil {
		return nil, nil, err
	}
	key := noise.KeyFromSeed(o.Seed)
	released, err := secret.Train(ctx, source{t}, t.Schema, s, key)
	if err != nil {
		return nil, nil, err
	}
	g, err := guarantee(released.Event(), privacy.AddRemove, o.Delta)
	return released.Model(), g, err
}

// privateBayes is made of noisy moments and counts of each class.
func privateBayes(ctx context.Context, t *eval.Table, form *learn.Form, o LearnOptions) (learn.Classifier, *Guarantee, error) {
	r := plan.ProfileRequest{
		Schema: t.Schema, Epsilon: o.Epsilon, Delta: o.Delta, Size: o.Size,
		Groups: []schema.Group{{Column: t.Schema.Label}}, Statistics: map[string]global.Statistic{},
	}
	for i, c := range t.Schema.Columns {
		switch {
		case i == t.Schema.LabelColumn():
		case c.Kind == schema.Numeric && !t.Discrete:
			r.Statistics[c.Name] = global.Moments
		default:
			r.Statistics[c.Name] = global.Histogram
		}
	}
	p, err := plan.NewProfile(r)
	if err != nil {
		return nil, nil, err
	}
	g, err := planned(p)
	if err != nil {
		return nil, nil, err
	}
	profile, err := g.release(ctx, t, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	m, err := learn.NewNaiveBayes(form, moments(t.Schema, profile), learn.NaiveBayesOptions{Gaussian: true})
	return m, g.Guarantee, err
}

// moments of a profile that is grouped by the label: what naive Bayes is made of.
func moments(s schema.Schema, p global.Profile) learn.Moments {
	var m learn.Moments
	for _, g := range p.Groups {
		m.Counts = append(m.Counts, max(0, g.Count))
		sums, squares, histograms := make([]float64, len(s.Columns)), make([]float64, len(s.Columns)), make([][]float64, len(s.Columns))
		for i, e := range g.Columns {
			c, n := s.Columns[i], max(0, g.Count)
			switch e.Statistic {
			case global.Moments:
				half := (c.High - c.Low) / 2
				mean, deviation := (e.Mean-(c.Low+half))/half, e.Deviation/half
				sums[i], squares[i] = n*mean, n*(mean*mean+deviation*deviation)
			case global.Histogram:
				for _, count := range e.Counts {
					histograms[i] = append(histograms[i], float64(count))
				}
			}
		}
		m.Sums, m.Squares, m.Histograms = append(m.Sums, sums), append(m.Squares, squares), append(m.Histograms, histograms)
	}
	return m
}
