package icl

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/labels"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Classification is a label with the scores of all labels.
type Classification struct {
	// Label is the best one; of equal ones, the first of the task's list.
	Label string `json:"label"`
	// Scores are probabilities of the task's labels, in its order. They sum to one.
	Scores []float64 `json:"scores"`
}

// Prediction is the answer to a question.
type Prediction struct {
	Classification
	// Raw is the answer without calibration: the same if there was none.
	Raw Classification `json:"raw"`
}

// Classifier answers questions with one label of a list. It is for one goroutine at a
// time.
type Classifier struct {
	*stem
	labels *labels.List
	// weights are the divisors of calibration, nil without.
	weights []float64
}

var _ Answerer = (*Classifier)(nil)

// NewClassifier computes the common prefix of all questions. Close it when it is no longer
// needed; the model stays open. A model that lacks the scores that the labels need is an
// *lm.UnsupportedError.
func NewClassifier(ctx context.Context, m lm.Scorer, t prompt.Task, demos []prompt.Example, o Options) (*Classifier, error) {
	t = t.WithDefaults()
	if o.Form.Turns() {
		return nil, errors.New("labels are chosen by their scores where the prompt is one text: in turns the model writes them")
	}
	if !reply.Listed(t) {
		return nil, fmt.Errorf("task %s has no list of labels to choose from: list them in the task, or let the model write the answer", t.Name)
	}
	o, err := o.filled(t)
	if err != nil {
		return nil, err
	}
	if o.Use.How == prompt.Alone {
		return nil, errors.New("evidence alone answers without a model's scores: use icl.Open")
	}
	c := &Classifier{}
	if c.labels, err = labels.New(ctx, m.Tokenizer(), t.Labels); err != nil {
		return nil, err
	}
	if err := c.labels.Check(m.Info(), o.Normalise && c.labels.UnevenLengths()); err != nil {
		return nil, err
	}
	if c.stem, err = newStem(ctx, m, t, demos, o, c.labels.Depth()); err != nil {
		return nil, err
	}
	if o.Calibrate {
		if err := c.calibrate(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Describe implements [Answerer].
func (c *Classifier) Describe() string {
	how := howScores
	if c.options.Normalise {
		how += ", for each of its tokens"
	}
	if c.weights != nil {
		how += ", calibrated"
	}
	if c.options.Use.How == prompt.Combined {
		how += fmt.Sprintf(", combined with evidence of weight %g", c.options.Use.Weight)
	}
	return c.options.describeNear(c.hints.describe(how))
}

// wholeRoot reports whether the first token's probability has to be known over the whole
// vocabulary: otherwise its share among the labels' first tokens suffices, because the rest
// is the same for all labels.
func (c *Classifier) wholeRoot() bool { return c.options.Normalise && c.labels.UnevenLengths() }

// Answer returns the best label for each question.
func (c *Classifier) Answer(ctx context.Context, inputs []string) ([]string, error) {
	predictions, err := c.Classify(ctx, inputs)
	if err != nil {
		return nil, err
	}
	answers := make([]string, len(predictions))
	for i, p := range predictions {
		answers[i] = p.Label
	}
	return answers, nil
}

// Classify answers questions, in their order.
func (c *Classifier) Classify(ctx context.Context, inputs []string) ([]Prediction, error) {
	evidence, err := c.options.evident(ctx, inputs)
	if err != nil {
		return nil, err
	}
	if inputs, err = c.hints.questions(ctx, inputs); err != nil {
		return nil, err
	}
	all, err := c.probabilities(ctx, inputs)
	if err != nil {
		return nil, err
	}
	predictions := make([]Prediction, len(all))
	for i, p := range all {
		predictions[i] = c.predict(p, c.weights, evidence[i])
	}
	return predictions, nil
}

// predict makes a prediction of labels' probabilities, the weights of calibration and the evidence, each
// nil without.
func (c *Classifier) predict(p, weights, evidence []float64) Prediction {
	raw := c.choose(p, evidence)
	if weights == nil {
		return Prediction{raw, raw}
	}
	return Prediction{c.choose(reply.Calibrated(p, weights), evidence), raw}
}

func (c *Classifier) choose(p, evidence []float64) Classification {
	if evidence != nil {
		p = reply.Combined(p, evidence, c.options.Use.Weight)
	}
	return Classification{c.task.Labels[reply.Best(p)], p}
}

// calibrate finds the mean probability of labels on questions without content.
func (c *Classifier) calibrate(ctx context.Context) error {
	all, err := c.probabilities(ctx, prompt.ContentFree())
	if err != nil {
		return err
	}
	c.weights = reply.Weights(all)
	return nil
}

// probabilities of the labels after each question.
func (c *Classifier) probabilities(ctx context.Context, inputs []string) ([][]float64, error) {
	all := make([][]float64, 0, len(inputs))
	err := c.passes(ctx, inputs, func(questions []question) error {
		list := make([]labels.Prompt, len(questions))
		for i, q := range questions {
			list[i] = labels.Prompt{From: q.from, Tokens: q.tokens}
		}
		scores, err := c.score(ctx, list)
		all = append(all, scores...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// score returns probabilities of the labels after questions in tokens.
func (c *Classifier) score(ctx context.Context, list []labels.Prompt) ([][]float64, error) {
	scores, err := c.labels.Scores(ctx, c.session, list, labels.Options{
		Can: c.model.Info().Can, Sequences: c.options.sequences(c.model.Info()), Whole: c.wholeRoot(),
	})
	for i, logs := range scores {
		scores[i] = c.softmax(logs)
	}
	return scores, err
}

// softmax turns labels' log-probabilities into probabilities.
func (c *Classifier) softmax(logs []float64) []float64 {
	if c.options.Normalise {
		for j := range logs {
			logs[j] /= float64(c.labels.Length(j))
		}
	}
	return reply.Probabilities(logs)
}
