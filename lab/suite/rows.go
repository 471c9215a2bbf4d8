package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/tabular"
	"github.com/sotto-dp/sotto/prompt"
)

// entry is all that rows of a cell are made from.
type entry struct {
	// cell says for how many answers ε is; listed is the one that the suite asked for.
	cell, listed     Cell
	data             *dataset
	planned          *sharedPlan[plan.Plan]    // nil without demonstrations, and online
	online           *sharedPlan[plan.Answers] // nil unless online
	table            *tabular.Guarantee        // nil unless a table's rows were protected
	set              *set
	answers          *answers
	writer, answerer model
}

// describe makes a row for each way to calibrate.
func (r *runner) describe(ctx context.Context, e entry) ([]result.Row, error) {
	var rows []result.Row
	for _, calibrated := range e.cell.Calibrate {
		got, scores := e.answers.Raw, e.answers.RawScores
		if calibrated {
			got, scores = e.answers.Calibrated, e.answers.CalibratedScores
		}
		if len(got) != len(e.data.items) {
			return nil, fmt.Errorf("%d answers to %d questions are in the cache: remove the folder %s", len(got), len(e.data.items), r.store.dir)
		}
		row, err := r.row(ctx, e, calibrated, got)
		if err != nil {
			return nil, err
		}
		maps.Copy(row.Metrics, e.ranked(scores))
		rows = append(rows, row)
	}
	return rows, nil
}

func (r *runner) row(ctx context.Context, e entry, calibrated bool, got []string) (result.Row, error) {
	c := e.cell
	row := result.Row{
		Suite: r.suite.Name, Dataset: c.Dataset.Name, Task: c.Task.Name, Method: c.Method, Name: c.Name, Settings: c.settings(),
		Epsilon: c.Epsilon, Claimed: c.Claims(), Online: c.Online, Queries: c.Queries,
		Shots: e.shots(), Seed: c.Seed, Model: e.writer.name, Answerer: e.answerer.name, Calibrated: calibrated,
		AnswerTokens: e.answers.Usage.Computed, AnswerSeconds: e.answers.Seconds, Version: r.Version,
	}
	if kinds[c.Method].writes() && !c.Online {
		row.WriteTokens, row.WriteSeconds = e.set.Usage.Computed, e.set.Seconds
	}
	e.guarantee(&row)
	var err error
	if row.Key, err = keyOf("row", row.Suite, row.Dataset, row.Name, e.set.key, e.answers.key, e.data.test, calibrated); err != nil {
		return row, err
	}
	return row, r.measure(ctx, &row, e, got)
}

// guarantee says what a plan costs in privacy, and what it would cost in tokens as papers
// carry it out.
func (e entry) guarantee(row *result.Row) {
	if p := e.planned; p != nil {
		row.PublishedTokens = p.Published
		if p.Plan.Private() && e.cell.Reads() {
			row.Delta, row.EpsilonUpper, row.Event = p.Plan.Delta, p.Epsilon, p.Plan.Event().String()
		}
	}
	if g := e.table; g != nil {
		row.Delta, row.EpsilonUpper, row.Event = g.Delta, g.Epsilon, g.Event
	}
	if p := e.online; p != nil {
		row.PublishedTokens = p.Published * int64(len(e.data.items))
		if p.Plan.Private() && e.cell.Reads() {
			row.Delta, row.EpsilonUpper, row.Event = p.Plan.Delta, p.Epsilon, p.Plan.Event().String()
		}
	}
}

// measure fills in the metrics: of the kind of task, the main one first, and of the texts
// that were written.
func (r *runner) measure(ctx context.Context, row *result.Row, e entry, got []string) error {
	pairs := make([]metric.Pair, len(got))
	for i, item := range e.data.items {
		pairs[i] = metric.Pair{Want: item.Output, Got: got[i]}
	}
	row.N, row.Metrics = len(pairs), map[string]float64{}
	names := metric.Of(e.cell.Task)
	if e.data.table == nil {
		values, err := textMetrics(ctx, e.texts())
		if err != nil {
			return err
		}
		maps.Copy(row.Metrics, values)
	} else {
		names = append(names, "balanced_accuracy", "mcc")
		maps.Copy(row.Metrics, shares(e.cell.Task.Labels, got))
	}
	for i, name := range names {
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
		if e.data.several {
			if row.Metrics[m.Name()+"_best"], err = best(ctx, m, e.data.items, got); err != nil {
				return err
			}
		}
	}
	if e.cell.Task.Kind != prompt.Generate {
		return nil
	}
	values, err := textMetrics(ctx, got)
	if err != nil {
		return err
	}
	for name, value := range values {
		row.Metrics["answer_"+name] = value
	}
	return r.similar(ctx, row, e, pairs)
}

// textMetrics are the metrics of texts alone, by name: what a set of demonstrations is like.
// There are none for no texts.
func textMetrics(ctx context.Context, texts []string) (map[string]float64, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	pairs := make([]metric.Pair, len(texts))
	for i, text := range texts {
		pairs[i].Got = text
	}
	values := map[string]float64{}
	for _, name := range []string{"distinct_1", "distinct_2", "distinct_3", "self_bleu", "words"} {
		m, err := metric.New(name, metric.Options{})
		if err != nil {
			return nil, err
		}
		if values[name], err = m.Value(ctx, pairs); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// best is the mean over items of the highest score that any of its references gives.
func best(ctx context.Context, m metric.Metric, items []eval.Item, got []string) (float64, error) {
	sum := 0.0
	for i, item := range items {
		var pairs []metric.Pair
		for _, want := range item.References {
			pairs = append(pairs, metric.Pair{Want: want, Got: got[i]})
		}
		scores, err := m.Score(ctx, pairs)
		if err != nil {
			return 0, err
		}
		sum += slices.Max(scores) / float64(len(items))
	}
	return sum, nil
}

// similar adds what embeddings say, if there is an encoder. That takes long enough to be
// kept.
func (r *runner) similar(ctx context.Context, row *result.Row, e entry, pairs []metric.Pair) error {
	if r.Encoder == nil {
		return nil
	}
	key, err := keyOf("similar", r.Encoder.Name(), pairs)
	if err != nil {
		return err
	}
	values, _, err := keep(r.store, "scores", key, nil, func() (*map[string]float64, error) {
		matches, err := metric.Matches(ctx, pairs, r.Encoder)
		values := map[string]float64{}
		for _, m := range matches {
			values["embedding_f1"] += m.F1 / float64(len(matches))
			values["embedding_precision"] += m.Precision / float64(len(matches))
		}
		return &values, err
	})
	if err != nil {
		return err
	}
	for name, value := range *values {
		row.Metrics[fmt.Sprintf("%s (%s)", name, r.Encoder.Name())] = value
	}
	return nil
}

// shots is the number of demonstrations.
func (e entry) shots() int {
	if e.set.Prompt != nil { // as many as the records chose: what was asked for distinguishes cells
		return e.cell.Shots
	}
	if len(e.set.each) > 0 {
		return len(e.set.each[0])
	}
	return len(e.set.Demos)
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
