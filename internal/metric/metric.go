package metric

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/prompt"
)

// Pair is an answer with its reference.
type Pair struct{ Want, Got string }

// Metric scores answers.
type Metric struct {
	name  string
	score func(ctx context.Context, pairs []Pair) ([]float64, error)
	// value is set for metrics that are no means of scores.
	value func(pairs []Pair) float64
}

// Name identifies the metric: values of different names are not comparable.
func (m Metric) Name() string { return m.name }

// PerItem reports whether each answer has a score of its own, of which the value is the
// mean.
func (m Metric) PerItem() bool { return m.score != nil }

// Score returns each answer's score, in their order. It is an error for metrics that score
// all answers together.
func (m Metric) Score(ctx context.Context, pairs []Pair) ([]float64, error) {
	if m.score == nil {
		return nil, fmt.Errorf("%s scores all answers together, not each: use its value", m.name)
	}
	return m.score(ctx, pairs)
}

// Value returns the score of all answers: the mean of their scores, or a joint score.
func (m Metric) Value(ctx context.Context, pairs []Pair) (float64, error) {
	if len(pairs) == 0 {
		return 0, errors.New("there are no answers to score: give at least one")
	}
	if m.value != nil {
		return m.value(pairs), nil
	}
	scores, err := m.Score(ctx, pairs)
	if err != nil {
		return 0, err
	}
	return stat.Mean(scores), nil
}

// For lists the metrics for answers of a kind of task, the main one first. Metrics that
// need an encoder are not listed.
func For(kind prompt.Kind) []string {
	switch kind {
	case prompt.Classify:
		return []string{"accuracy", "macro_f1"}
	case prompt.Extract:
		return []string{"exact_match", "rouge_1"}
	case prompt.Generate:
		return []string{"rouge_l", "rouge_1", "rouge_2"}
	}
	return nil
}

// Of lists the metrics for answers of a task, as [For] does. Labels that no list has are written
// by the model, so that they are compared as extracted phrases are.
func Of(t prompt.Task) []string {
	if t.Kind == prompt.Classify && t.Open() {
		return For(prompt.Extract)
	}
	return For(t.Kind)
}

// Names lists all metrics that New knows.
func Names() []string {
	return slices.Sorted(slices.Values(slices.AppendSeq(slices.Collect(maps.Keys(simple)), maps.Keys(embedding))))
}

// Options of metrics.
type Options struct {
	// Encoder for the embedding metrics, which need one. Others ignore it.
	Encoder Encoder
}

// New makes the metric of a name.
func New(name string, options Options) (Metric, error) {
	if m, ok := simple[name]; ok {
		m.name = name
		return m, nil
	}
	part, ok := embedding[name]
	switch {
	case !ok:
		return Metric{}, fmt.Errorf("no metric is called %q: there are %s", name, strings.Join(Names(), ", "))
	case options.Encoder == nil:
		return Metric{}, fmt.Errorf("%s needs an encoder: name a sentence encoder, such as minilm", name)
	}
	return newEmbedding(name, part, options), nil
}
