package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/private/sums"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// addUp adds up all records as evidence for labels, if the plan says so. The encoder repeats itself, so that
// what was begun and lost comes out the same.
func (r *runner) addUp(ctx context.Context) error {
	if r.plan.Evidence == nil || r.exec.progress.evidence != nil {
		return nil
	}
	summer, err := r.summer(r.exec.key)
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
	return r.exec.announce(entry{State: summed, Evidence: data}, env.Progress{Kind: env.Summed})
}

// summer adds records up with noise of a key. No record is read before it is asked to.
func (r *runner) summer(key noise.Key) (*sums.Summer, error) {
	return sums.New(sums.Options{
		Encoder: r.exec.env.Encoder, Task: r.plan.Task, Pool: r.options.Data, Parts: r.options.Data.Parts(), Key: key, Sums: r.plan.Evidence.Sums, Schema: r.plan.Evidence.Schema,
		Encoded: func(units int64) {
			r.exec.report(env.Progress{Kind: env.Encoded, Share: min(1, float64(units)/float64(r.plan.Evidence.Size))})
		},
	})
}

// coveredSums makes sure that records were added up as the plan says, and that this is among what is charged,
// before evidence is released.
func (r *runner) coveredSums(out sums.Outcome) error {
	ran, err := privacy.Terms(out.Event)
	if err != nil {
		return err
	}
	paid, err := privacy.Terms(r.exec.spec.Event)
	if err != nil {
		return err
	}
	covered := out.Event.String() == r.plan.Evidence.Event().String()
	for _, t := range ran {
		covered = covered && slices.ContainsFunc(paid, func(p privacy.Term) bool { return p.Event.String() == t.Event.String() && p.N >= t.N })
	}
	if !covered {
		return fmt.Errorf("records were added up by %s, which the plan does not pay for: this is an internal error; nothing of it is released", out.Event)
	}
	return nil
}

// summed is what the journal says about labels; nil if nothing. What the plan would not have made is refused.
func (r *runner) summed() (*evidence.Evidence, error) {
	if r.exec.progress == nil || r.exec.progress.evidence == nil {
		return nil, nil
	}
	const instead = "the folder was changed. Restore it from a backup, or start again in another folder"
	if r.plan.Evidence == nil {
		return nil, r.exec.folder.refuse("its journal holds evidence, and its plan has none: %s", instead)
	}
	e, err := evidence.Decode(r.exec.progress.evidence)
	if err == nil {
		err = e.Suits(r.plan.Task.Labels)
	}
	if err != nil {
		return nil, r.exec.folder.refuse("its journal holds evidence that cannot be used: %v; %s", err, instead)
	}
	if s := r.plan.Evidence.Sums; e.Encoder != s.Encoder || int64(e.Sums) != s.Sums || e.Sigma != s.Sigma || len(e.Vectors[0]) != r.exec.env.Encoder.Dimension() {
		return nil, r.exec.folder.refuse("its journal holds evidence of another encoder, or with other noise, than its plan: %s", instead)
	}
	return e, nil
}

// checkEncoder finds a missing encoder, or another one than that of the plan.
func (r *runner) checkEncoder() error {
	check := func(use, name string) error {
		if !r.exec.env.Encoder.Valid() {
			return fmt.Errorf("the plan %s by the encoder %s, and none was opened", use, name)
		}
		if own := r.exec.env.Encoder.Name(); own != name {
			return fmt.Errorf("the plan %s by the encoder %s, and this one is %s", use, name, own)
		}
		return nil
	}
	if e := r.plan.Evidence; e != nil {
		if err := check("adds records up", e.Encoder); err != nil {
			return err
		}
	}
	if c := r.plan.Choose; c != nil && c.Nearest != nil {
		return check("finds the examples nearest to a question", c.Nearest.Encoder)
	}
	return nil
}
