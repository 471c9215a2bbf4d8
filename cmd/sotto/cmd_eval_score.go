package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/eval/metric"
	"github.com/sotto-dp/sotto/eval/stat"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/bert"
	"github.com/sotto-dp/sotto/lm/remote"
	"github.com/sotto-dp/sotto/prompt"
)

// evaluate answers all questions with each set and compares the sets.
func (s *setting) evaluate(ctx context.Context, sets []demoSet) (r *evalResult, err error) {
	began := time.Now()
	spec, err := s.modelSpec(s.modelFlags)
	if err != nil {
		return nil, err
	}
	r = &evalResult{Task: s.target.Name, Test: s.test, Model: modelName(spec, s.model.Info()), Predictions: s.predictions}
	book, err := openPredictions(s.predictions, s.inputs()...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, book.close()) }()
	for _, set := range sets {
		if set.name == demosReal {
			if set.demos, err = s.drawReal(ctx); err != nil {
				return nil, err
			}
		}
		row, err := s.row(ctx, r, set, book)
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, row)
		if set.notPrivate {
			r.note("the demonstrations of %s are NOT PRIVATE: they are for comparison alone", set.name)
		}
	}
	if r.scoreless {
		r.note("%s gives no scores, so that answers are not calibrated", r.Model)
	}
	first := r.Rows[0]
	r.Metric, r.Value, r.Low, r.High, r.N = first.Metric, first.Value, first.Low, first.High, first.N
	if r.Comparisons, err = s.compare(r.Rows); err != nil {
		return nil, err
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// inputs are the paths of what is read; one that is no file does no harm.
func (s *setting) inputs() []string {
	paths := []string{s.test, s.task, s.data}
	for _, ref := range s.demos {
		paths = append(paths, ref, filepath.Join(ref, "demos.jsonl"))
	}
	return paths
}

// listed reports whether answers are of a closed list of labels.
func listed(t prompt.Task) bool { return t.Kind != prompt.Generate && !t.Open() }

// row answers the questions with one set.
func (s *setting) row(ctx context.Context, r *evalResult, set demoSet, book predictions) (evalRow, error) {
	row := evalRow{Demos: set.name, Shots: len(set.demos), Private: !set.notPrivate, N: len(s.items)}
	began := time.Now()
	answers, err := s.answer(ctx, r, &row, set)
	if err != nil {
		return row, err
	}
	row.Seconds = time.Since(began).Seconds()
	row.Rate = float64(row.N) / row.Seconds
	if err := s.measure(ctx, &row, answers); err != nil {
		return row, err
	}
	lines := make([]prediction, len(answers))
	for i, a := range answers {
		lines[i] = prediction{
			Demos: row.Demos, Item: i + 1, Input: s.items[i].Input, Want: s.items[i].Output, Got: a.text, Raw: a.raw, Score: row.scores[i], Scores: a.scores,
		}
	}
	return row, book.add(lines)
}

// options of intervals and tests.
func (s *setting) options() stat.Options { return stat.Options{Seed: uint64(s.seed)} }

// compare compares all pairs of sets on the same questions.
func (s *setting) compare(rows []evalRow) ([]evalComparison, error) {
	list := []evalComparison{}
	var chances []float64
	for i, b := range rows {
		for _, a := range rows[i+1:] {
			c, err := stat.Compare(s.options(), stat.Paired{A: [][]float64{a.scores}, B: [][]float64{b.scores}})
			if err != nil {
				return nil, err
			}
			list = append(list, evalComparison{A: a.Demos, B: b.Demos, Difference: c.Difference, Low: c.Interval.Low, High: c.Interval.High, P: c.P})
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

// checkMetric finds out before anything is asked whether the metric can be had.
func (o *evalOptions) checkMetric(t prompt.Task) error {
	if o.metric == "" && o.encoder == "" {
		return nil
	}
	if o.metric != "" && !slices.Contains(metric.Names(), o.metric) {
		return usage("--metric is %q, it should be one of %s", o.metric, strings.Join(metric.Names(), ", "))
	}
	if embeds(o.metric) {
		return nil
	}
	if o.encoder != "" {
		return usage("--encoder is for embedding metrics, and would change nothing: give a --metric such as embedding_f1")
	}
	m, err := metric.New(o.metric, metric.Options{})
	if err != nil {
		return err
	}
	if !m.PerItem() {
		return usage("--metric %s is about all answers together and has no interval: measure %s, and find it beside that if it is for the task", o.metric, metric.For(t.Kind)[0])
	}
	return nil
}

// embeds reports whether a metric needs an encoder of sentences.
func embeds(name string) bool { return strings.HasPrefix(name, "embedding_") }

// measure scores the answers of a set.
func (s *setting) measure(ctx context.Context, row *evalRow, answers []answered) error {
	names := metric.For(s.target.Kind)
	main := names[0]
	if s.metric != "" {
		main = s.metric
	}
	pairs, raw := make([]metric.Pair, len(answers)), make([]metric.Pair, len(answers))
	for i, a := range answers {
		pairs[i] = metric.Pair{Want: s.items[i].Output, Got: a.text}
		raw[i] = metric.Pair{Want: s.items[i].Output, Got: a.raw}
	}
	m, err := s.newMetric(ctx, main)
	if err != nil {
		return err
	}
	if row.scores, err = m.Score(ctx, pairs); err != nil {
		return err
	}
	row.Metric, row.Value = m.Name(), stat.Mean(row.scores)
	interval, err := stat.BCa(row.scores, s.options())
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
		other, err := s.newMetric(ctx, name)
		if err != nil {
			return err
		}
		if row.Metrics[name], err = other.Value(ctx, pairs); err != nil {
			return err
		}
	}
	if listed(s.target) {
		row.tally(s.target.Labels, pairs)
	}
	return nil
}

// newMetric makes a metric, and loads the encoder of sentences once if it needs that.
func (s *setting) newMetric(ctx context.Context, name string) (metric.Metric, error) {
	if !embeds(name) {
		return metric.New(name, metric.Options{})
	}
	if s.sentences == nil {
		var err error
		if s.sentences, err = s.openEncoder(ctx); err != nil {
			return metric.Metric{}, err
		}
	}
	if b, ok := s.sentences.(*bert.Encoder); ok {
		return metric.New(name, metric.Options{Encoder: metric.InContext(b)})
	}
	return metric.New(name, metric.Options{Encoder: metric.WordByWord(s.sentences)})
}

func (s *setting) openEncoder(ctx context.Context) (lm.Embedder, error) {
	if s.encoder == "" {
		return backend.Encoder()
	}
	client, err := backend.Dial(ctx, backend.Spec{URL: s.encoder, Key: remote.Key{Env: s.keyEnv}})
	if err != nil {
		return nil, err
	}
	e, err := client.Embedder(ctx)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return e, nil
}

// tally counts which labels were taken for which.
func (r *evalRow) tally(labels []string, pairs []metric.Pair) {
	r.Confusion = make([][]int, len(labels))
	for i := range r.Confusion {
		r.Confusion[i] = make([]int, len(labels))
	}
	r.Labels = make([]evalLabel, len(labels))
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
