package tabular

import (
	"context"

	"github.com/sotto-dp/sotto/internal/learn"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	profiled "github.com/sotto-dp/sotto/internal/private/table/learn"
	"github.com/sotto-dp/sotto/lab/trainer"
	"github.com/sotto-dp/sotto/lab/trainer/private"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// privateLogistic adds noise to the coefficients.
func privateLogistic(ctx context.Context, t *Table, o LearnOptions) (trainer.Classifier, *Guarantee, error) {
	s, err := private.New(private.Request{Schema: t.Schema, Discrete: t.Discrete, Epsilon: o.Epsilon, Delta: o.Delta, Size: o.Size})
	if err != nil {
		return nil, nil, err
	}
	key := noise.KeyFromSeed(o.Seed)
	released, err := private.Train(ctx, source{t}, t.Schema, s, key)
	if err != nil {
		return nil, nil, err
	}
	g, err := guarantee(released.Event(), privacy.AddRemove, o.Delta)
	return released.Model(), g, err
}

// privateBayes is naive Bayes of noisy moments and counts of each class.
func privateBayes(ctx context.Context, t *Table, form *learn.Form, o LearnOptions) (trainer.Classifier, *Guarantee, error) {
	r := plan.ProfileRequest{Schema: t.Schema, Epsilon: o.Epsilon, Delta: o.Delta, Size: o.Size}
	r.Groups, r.Statistics = []schema.Group{{Column: t.Schema.Label}}, make(map[string]global.Statistic)
	for _, in := range form.Inputs() {
		r.Statistics[t.Schema.Columns[in.Place].Name] = global.Moments
		if in.Discrete {
			r.Statistics[t.Schema.Columns[in.Place].Name] = global.Histogram
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
	profile, err := g.release(ctx, source{t}, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	m, err := profiled.Bayes(form, profile, learn.NaiveBayesOptions{})
	return m, g.Guarantee, err
}
