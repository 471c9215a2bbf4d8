package run

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/private/sums"
)

// addUp adds up all records as evidence for labels, if the plan says so. The encoder repeats itself, so that
// what was begun and lost comes out the same.
func (r *runner) addUp(ctx context.Context) error {
	c := r.Plan.Choose
	if c == nil || c.Evidence == nil || r.evidence != nil {
		return nil
	}
	summer, err := sums.New(sums.Options{
		Encoder: r.Encoder, Task: r.Plan.Task, Pool: r.Data, Parts: r.Data.Parts(), Key: r.key, Sums: c.Evidence.Sums,
		Encoded: func(int64) { r.report(env.Progress{Kind: env.Encoded}) },
	})
	if err != nil {
		return err
	}
	out, err := summer.Evidence(ctx)
	if err != nil {
		return err
	}
	if out.Event.String() != c.Evidence.Event().String() {
		return fmt.Errorf("records were added up by %s, which the plan does not pay for: this is a fault of the program; nothing of it is released", out.Event)
	}
	data, err := json.Marshal(out.Evidence)
	if err != nil {
		return fmt.Errorf("encode the evidence: %w", err)
	}
	return r.announce(entry{State: summed, Evidence: data}, env.Progress{Kind: env.Summed})
}

// summed is what the journal says about labels; nil if nothing.
func (r *runner) summed() (*evidence.Evidence, error) {
	if r.progress == nil || r.evidence == nil {
		return nil, nil
	}
	e, err := evidence.Decode(r.evidence)
	if err == nil {
		err = e.Suits(r.Plan.Task.Labels)
	}
	if err != nil {
		return nil, r.refuse("its journal holds evidence that cannot be used: %v", err)
	}
	return e, nil
}

// checkEncoder finds a missing encoder, or another one than that of the plan.
func (r *runner) checkEncoder() error {
	c := r.Plan.Choose
	if c == nil || c.Evidence == nil {
		return nil
	}
	if !r.Encoder.Valid() {
		return fmt.Errorf("the plan adds records up by the encoder %s, and none was opened", c.Evidence.Encoder)
	}
	if name := r.Encoder.Name(); name != c.Evidence.Encoder {
		return fmt.Errorf("the plan adds records up by the encoder %s, and this one is %s", c.Evidence.Encoder, name)
	}
	return nil
}
