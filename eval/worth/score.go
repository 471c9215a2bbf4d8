package worth

import (
	"context"
	"slices"

	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/internal/stat"
)

// measure scores the answers of a set.
func (e *Evaluation) measure(ctx context.Context, row *Row, answers []prediction) error {
	names := metric.Of(e.Task)
	main := names[0]
	if e.Metric != "" {
		main = e.Metric
	}
	pairs, raw := make([]metric.Pair, len(answers)), make([]metric.Pair, len(answers))
	for i, a := range answers {
		pairs[i] = metric.Pair{Want: e.Items[i].Output, Got: a.text}
		raw[i] = metric.Pair{Want: e.Items[i].Output, Got: a.raw}
	}
	m, err := e.metric(ctx, main)
	if err != nil {
		return err
	}
	if row.scores, err = m.Score(ctx, pairs); err != nil {
		return err
	}
	row.Metric, row.Value = m.Name(), stat.Mean(row.scores)
	interval, err := stat.BCa(row.scores, stat.Options{Seed: e.Seed})
	if err != nil {
		return err
	}
	row.Low, row.High = interval.Low, interval.High
	if row.raw {
		v, err := m.Value(ctx, raw)
		if err != nil {
			return err
		}
		row.Uncalibrated = &v
	}
	row.Metrics = map[string]float64{}
	for _, name := range names {
		if name == main {
			continue
		}
		other, err := e.metric(ctx, name)
		if err != nil {
			return err
		}
		if row.Metrics[name], err = other.Value(ctx, pairs); err != nil {
			return err
		}
	}
	if Listed(e.Task) {
		row.Tally(e.Task.Labels, pairs)
	}
	return nil
}

// metric makes a metric, and loads the encoder of sentences once if it needs that.
func (e *Evaluation) metric(ctx context.Context, name string) (metric.Metric, error) {
	if !Embeds(name) {
		return metric.New(name, metric.Options{})
	}
	if e.sentences == nil {
		var err error
		if e.sentences, err = e.Encoder(ctx); err != nil {
			return metric.Metric{}, err
		}
	}
	return metric.New(name, metric.Options{Encoder: metric.EncoderOf(e.sentences)})
}

// compare compares all pairs of sets on the same questions.
func (e *Evaluation) compare(rows []Row) ([]Comparison, error) {
	list := []Comparison{}
	var chances []float64
	for i, b := range rows {
		for _, a := range rows[i+1:] {
			c, err := stat.Compare(stat.Options{Seed: e.Seed}, stat.PairedScores{A: [][]float64{a.scores}, B: [][]float64{b.scores}})
			if err != nil {
				return nil, err
			}
			list = append(list, Comparison{A: a.Demos, B: b.Demos, Difference: c.Difference, Low: c.Interval.Low, High: c.Interval.High, P: c.P})
			chances = append(chances, c.P)
		}
	}
	adjusted, err := stat.Holm(chances)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Adjusted = adjusted[i]
	}
	return list, nil
}

// Tally counts which labels were taken for which.
func (r *Row) Tally(labels []string, pairs []metric.Pair) {
	r.Confusion = make([][]int, len(labels))
	for i := range r.Confusion {
		r.Confusion[i] = make([]int, len(labels))
	}
	r.Labels = make([]Label, len(labels))
	for i, l := range labels {
		r.Labels[i].Label = l
	}
	for _, p := range pairs {
		i, j := slices.Index(labels, p.Want), slices.Index(labels, p.Got)
		r.Labels[i].N++
		if j < 0 {
			r.Unanswered++
			continue
		}
		r.Confusion[i][j]++
	}
	for i := range r.Labels {
		if n := r.Labels[i].N; n > 0 {
			r.Labels[i].Accuracy = float64(r.Confusion[i][i]) / float64(n)
		}
	}
}
