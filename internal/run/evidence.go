package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/env"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/private/sums"
	"github.com/sotto-dp/sotto/privacy"
)

// addUp adds up all records as evidence for labels, if the plan says so. The encoder repeats itself, so that
// what was begun and lost comes out the same.
func (r *runner) addUp(ctx context.Context) error {
	c := r.Plan.Choose
	if c == nil || c.Evidence == nil || r.evidence != nil {
		return nil
	}
	summer, err := sums.New(sums.Options{
		Encoder: r.Encoder, Task: r.Plan.Task, Pool: r.Data, Parts: r.Data.Parts(), Key: r.key, Sums: c.Evidence.Sums, Schema: c.Evidence.Schema,
		Encoded: func(int64) { r.report(env.Progress{Kind: env.Encoded}) },
	})
	if err != nil {
		return err
	}
	out, err := summer.Evidence(ctx)
	if err != nil {
		return err
	}
	if err := r.coveredSums(out); err != nil {
		return err
	}
	data, err := json.Marshal(out.Evidence)
	if err != nil {
		return fmt.Errorf("encode the evidence: %w", err)
	}
	return r.announce(entry{State: summed, Evidence: data}, env.Progress{Kind: env.Summed})
}

// coveredSums makes sure that records were added up as the plan says, and that this is among what is charged,
// before evidence is released.
func (r *runner) coveredSums(out sums.Outcome) error {
	ran, err := privacy.Terms(out.Event)
	if err != nil {
		return err
	}
	paid, err := privacy.Terms(r.execution.spec.Event)
	if err != nil {
		return err
	}
	covered := out.Event.String() == r.Plan.Choose.Evidence.Event().String()
	for _, t := range ran {
		covered = covered && slices.ContainsFunc(paid, func(p privacy.Term) bool { return p.Event.String() == t.Event.String() && p.N >= t.N })
	}
	if !covered {
		return fmt.Errorf("records were added up by %s, which the plan does not pay for: this is a fault of the program; nothing of it is released", out.Event)
	}
	return nil
}

// summed is what the journal says about labels; nil if nothing. What the plan would not have made is refused.
func (r *runner) summed() (*evidence.Evidence, error) {
	if r.progress == nil || r.evidence == nil {
		return nil, nil
	}
	const instead = "the folder was changed. Restore it from a backup, or start again in another folder"
	if c := r.Plan.Choose; c == nil || c.Evidence == nil {
		return nil, r.refuse("its journal holds evidence, and its plan has none: %s", instead)
	}
	e, err := evidence.Decode(r.evidence)
	if err == nil {
		err = e.Suits(r.Plan.Task.Labels)
	}
	if err != nil {
		return nil, r.refuse("its journal holds evidence that cannot be used: %v; %s", err, instead)
	}
	if s := r.Plan.Choose.Evidence.Sums; e.Encoder != s.Encoder || int64(e.Sums) != s.Sums || e.Sigma != s.Sigma || len(e.Vectors[0]) != r.Encoder.Dimension() {
		return nil, r.refuse("its journal holds evidence of another encoder, or with other noise, than its plan: %s", instead)
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
