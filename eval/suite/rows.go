package suite

import (
	"context"
	"fmt"
	"maps"

	"sotto/eval"
	"sotto/eval/metric"
	"sotto/prompt"
)

// entry is all that rows of a cell are made from.
type entry struct {
	cell             Cell
	data             *dataset
	planned          *planned // nil without demonstrations
	set              *set
	answers          *answers
	writer, answerer model
}

// describe makes a row for each way to calibrate.
func (r *runner) describe(ctx context.Context, e entry) ([]eval.Row, error) {
	var rows []eval.Row
	for _, calibrated := range e.cell.Calibrate {
		got := e.answers.Raw
		if calibrated {
			got = e.answers.Calibrated
		}
		if len(got) != len(e.data.items) {
			return nil, fmt.Errorf("%d answers to %d questions are in the cache: remove the folder %s", len(got), len(e.data.items), r.store.dir)
		}
		row, err := r.row(ctx, e, calibrated, got)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (r *runner) row(ctx context.Context, e entry, calibrated bool, got []string) (eval.Row, error) {
	c := e.cell
	row := eval.Row{
		Suite: r.suite.Name, Dataset: c.Dataset.Name, Task: c.Task.Name, Method: c.Method, Name: c.Name, Settings: c.settings(),
		Epsilon: c.Epsilon, Shots: len(e.set.Demos), Seed: c.Seed, Model: e.writer.name, Answerer: e.answerer.name, Calibrated: calibrated,
		AnswerTokens: e.answers.Usage.Computed, AnswerSeconds: e.answers.Seconds, Version: r.Version,
	}
	if kinds[c.Method].writes {
		row.WriteTokens, row.WriteSeconds = e.set.Usage.Computed, e.set.Seconds
	}
	if p := e.planned; p != nil {
		row.PublishedTokens = p.Published
		if p.Plan.Private() && c.Reads() {
			row.Delta, row.EpsilonUpper, row.Event = p.Plan.Delta, p.Epsilon, p.Plan.Event().String()
		}
	}
	var err error
	if row.Key, err = keyOf("row", row.Suite, row.Dataset, row.Name, e.set.key, e.answers.key, e.data.test, calibrated); err != nil {
		return row, err
	}
	return row, measure(ctx, &row, e, got)
}

// measure fills in the metrics: of the kind of task, the main one first, and of the texts
// that were written.
func measure(ctx context.Context, row *eval.Row, e entry, got []string) error {
	pairs := make([]metric.Pair, len(got))
	for i, item := range e.data.items {
		pairs[i] = metric.Pair{Want: item.Output, Got: got[i]}
	}
	row.N, row.Metrics = len(pairs), map[string]float64{}
	maps.Copy(row.Metrics, metric.OfTexts(e.texts()))
	for i, name := range metric.For(e.cell.Task.Kind) {
		m, err := metric.New(name, metric.Options{})
		if err != nil {
			return err
		}
		value, err := m.Value(ctx, pairs)
		if err != nil {
			return err
		}
		if i > 0 {
			row.Metrics[m.Name()] = value
			continue
		}
		row.Metric, row.Value = m.Name(), value
		if row.Items, err = m.Score(ctx, pairs); err != nil {
			return err
		}
	}
	return nil
}

// texts of the demonstrations that a method has written, without what they are for.
func (e entry) texts() []string {
	var out []string
	for _, d := range e.set.Demos {
		if e.cell.Task.Kind == prompt.Generate {
			out = append(out, d.Output)
		} else {
			out = append(out, d.Input)
		}
	}
	return out
}
