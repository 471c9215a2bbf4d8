package run

import (
	"context"
	"fmt"

	"sotto/private/count"
)

// count has the sizes of the parts counted with noise, if the plan says so.
func (r *runner) count(context.Context) error {
	c := r.Plan.Count
	if c == nil || r.sizes != nil {
		return nil
	}
	sizes, _, err := count.Sizes(r.Data, c.Epsilon, r.key.Stream("count"))
	if err != nil {
		return fmt.Errorf("count the records: %w", err)
	}
	if err := r.note(entry{State: counted, Sizes: sizes}); err != nil {
		return err
	}
	r.tell(Event{Kind: Counted})
	return nil
}

// discover finds the labels that enough units have, if the plan says so.
func (r *runner) discover(ctx context.Context) error {
	d := r.Plan.Discover
	if d == nil || r.labelled {
		return nil
	}
	found, _, err := count.Labels(ctx, r.Data, count.LabelOptions{Epsilon: d.Epsilon, Delta: d.Delta, Max: d.Most}, r.key.Stream("discover"))
	if err != nil {
		return fmt.Errorf("discover labels: %w", err)
	}
	if err := r.note(entry{State: labelled, Found: found}); err != nil {
		return err
	}
	r.tell(Event{Kind: Discovered})
	return nil
}
