package run

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/count"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
)

// count has the sizes of the parts counted with noise, if the plan says so.
func (r *runner) count(context.Context) error {
	c := r.plan.Count
	if c == nil || r.exec.progress.sizes != nil {
		return nil
	}
	sizes, ran, err := count.Sizes(r.options.Data, c.Epsilon, r.exec.key.Stream("count"))
	if err == nil {
		err = paid(ran, func(e privacy.Event) bool {
			laplace, ok := e.(privacy.Laplace)
			return ok && laplace.B >= 1/c.Epsilon // a larger scale is more noise
		})
	}
	if err != nil {
		return fmt.Errorf("count the records: %w", err)
	}
	return r.exec.announce(entry{State: counted, Sizes: sizes}, env.Progress{Kind: env.Counted})
}

// discover finds the labels that enough units have, if the plan says so.
func (r *runner) discover(ctx context.Context) error {
	d := r.plan.Discover
	if d == nil || r.exec.progress.labelled {
		return nil
	}
	found, ran, err := count.Labels(ctx, r.options.Data, count.LabelOptions{Epsilon: d.Epsilon, Delta: d.Delta, Max: d.MaxLabels}, r.exec.key.Stream("discover"))
	if err == nil {
		err = paid(ran, func(e privacy.Event) bool { return e == privacy.Approx{Epsilon: d.Epsilon, Delta: d.Delta} })
	}
	if err != nil {
		return fmt.Errorf("discover labels: %w", err)
	}
	return r.exec.announce(entry{State: labelled, Found: found}, env.Progress{Kind: env.Discovered})
}

// paid makes sure that what ran on disjoint parts is what the plan's event has, before
// anything of it is released.
func paid(ran privacy.Event, planned func(privacy.Event) bool) error {
	return privacy.Walk(ran, func(e privacy.Event, _ int) error {
		if _, disjoint := e.(privacy.Parallel); disjoint || planned(e) {
			return nil
		}
		return fmt.Errorf("%s ran, and is not what the plan pays for", e)
	})
}
