package run

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// worth counts, with noise, for how many records the chosen prompt is right, if the plan
// says so.
func (r *runner) worth(ctx context.Context) error {
	planned := r.plan.Measured()
	if planned == nil || r.exec.progress.measured != nil {
		return nil
	}
	if !r.exec.progress.header.Model.exact() {
		if r.exec.progress.looking { // a second look would be a second use of the records
			return r.exec.note(entry{State: measured, Measured: json.RawMessage(lostCounts)})
		}
		if err := r.exec.note(entry{State: begun, Round: int64(len(r.exec.progress.winners)) + 1}); err != nil {
			return err
		}
	}
	settings := *planned
	settings.Draw = r.rate(settings.Draw)
	said, err := r.summed()
	if err != nil {
		return err
	}
	m, err := measure.New(ctx, measure.Options{
		Evidence: said, Encoder: r.exec.env.Encoder,
		Model: r.reader.judge(r.exec), Isolation: r.reader.judges.Isolation(), Task: r.plan.Task, Pool: r.options.Data, Parts: r.options.Data.Parts(), Key: r.exec.key, Measure: settings, Forms: r.forms(),
		PassTokens: r.options.PassTokens, Usage: r.judging(),
	})
	if err != nil {
		return err
	}
	prompts := []prompt.Prompt{r.prompt()}
	if planned.Prompts == 2 {
		prompts = append(prompts, prompt.Prompt{Form: r.prompt().Form, Evidence: prompt.Use{How: prompt.Alone}})
	}
	out, err := m.Counts(ctx, prompts)
	if err != nil {
		return err
	}
	if sampling := settings.Draw; out.Event.String() != settings.Event().String() || sampling.Rate > planned.Draw.Rate || sampling.Take != planned.Draw.Take {
		return fmt.Errorf("the prompt was measured by %s, which the plan does not pay for: this is an internal error; nothing of it is released", out.Event)
	}
	data, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode the counts: %w", err)
	}
	return r.exec.note(entry{State: measured, Measured: data})
}

// forms are those that a model is asked with; none, and not nil, where none is.
func (r *runner) forms() []prompt.Form {
	if r.plan.Learns() {
		return []prompt.Form{}
	}
	return r.plan.Choose.Forms()
}

// lostCounts stand for a measurement that was begun and lost.
const lostCounts = `{"counts":null}`

// measuredWorth is what the journal says about the chosen prompt; nil if nothing.
func (r *runner) measuredWorth() (*release.Worth, error) {
	planned := r.plan.Measured()
	if planned == nil || r.exec.progress.measured == nil {
		return nil, nil
	}
	var out measure.Outcome
	if err := bounded.UnmarshalJSON(r.exec.progress.measured, bounded.Large, &out); err != nil || len(out.Counts) > 0 && (len(out.Counts) != planned.Prompts || len(out.Labels) != planned.Labels) {
		return nil, r.exec.folder.refuse("its journal holds no counts of the chosen prompt; start again in another folder")
	}
	if len(out.Counts) == 0 {
		return nil, nil
	}
	settings := *planned
	settings.Draw = r.rate(settings.Draw)
	numbers := plan.Measurement{Measure: settings}
	shares, err := numbers.Rows(out)
	if err != nil {
		return nil, err
	}
	over, err := numbers.Difference(out)
	if err != nil {
		return nil, err
	}
	cost, err := accountant.Auto{}.Epsilon(planned.Event(), r.plan.Adjacency, r.plan.Delta)
	if err != nil {
		return nil, fmt.Errorf("compute the ε of a number: %w", err)
	}
	w := &release.Worth{
		Metric: measure.Metric(settings.Grade), Value: shares[0].Value, Low: shares[0].Low, High: shares[0].High, Epsilon: cost.Upper, Alone: r.prompt().Evidence.How == prompt.Alone,
	}
	if over != nil && !w.Alone {
		w.Classifier = &release.Beside{Value: shares[1].Value, Low: shares[1].Low, High: shares[1].High, Over: over.Value, OverLow: over.Low, OverHigh: over.High}
	}
	if w.Metric == "accuracy" {
		w.Commonest = r.commonest(out)
	}
	return w, nil
}

// commonest is the label that most records have, as it was declared, or as the measured records have it; nil if
// that is not known.
func (r *runner) commonest(out measure.Outcome) *release.Commonest {
	labels := r.plan.Task.Labels
	if declared := r.plan.Declared(); declared != nil {
		numbers, sum := make([]int64, len(labels)), int64(0)
		for i, l := range labels {
			numbers[i] = declared[l]
			sum += declared[l]
		}
		return release.MostCommon(labels, numbers, sum, false)
	}
	// Right and wrong have less noise together than all labels.
	return release.MostCommon(labels, out.Labels, out.Counts[0].Right+out.Counts[0].Wrong, true)
}
