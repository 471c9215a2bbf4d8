package icl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"sotto/lm"
	"sotto/prompt"
)

// Demo is a question with its answer. Of a classification task, the input is a text
// and the output its label.
type Demo struct {
	Input  string `json:"input"`
	Output string `json:"output"`
}

// Options say how questions are asked. The zero value is useful.
type Options struct {
	// Calibrate divides the probability of labels by what questions without content
	// give them.
	Calibrate bool
	// MaxInputTokens of a question are used. Default: what the task's limits say.
	MaxInputTokens int
	// Normalise divides a label's log-probability by its number of tokens, so that
	// long labels are not at a disadvantage.
	Normalise bool
}

// contentFree are the questions of contextual calibration (Zhao et al. 2021, section 5).
var contentFree = []string{"N/A", "[MASK]", ""}

// Limits of one pass through the model: memory is bounded whatever the number of
// questions, and passes are long enough for the engine to run at its best.
const (
	passTokens    = 2048
	passSequences = 64
)

// Prediction is the answer to a question.
type Prediction struct {
	// Label is the best one; of equal ones, the first of the task's list.
	Label string `json:"label"`
	// Scores are probabilities of the task's labels, in its order. They sum to one.
	Scores []float64 `json:"scores"`
}

// Classifier answers questions with one label of a list. It is for one goroutine at a
// time.
type Classifier struct {
	model   lm.Scorer
	task    prompt.Task
	options Options
	session lm.Session
	root    lm.Sequence // instruction and demonstrations
	length  int         // of root, in tokens
	labels  *trie
	// weights are what calibration divides by, nil without.
	weights []float64
}

// NewClassifier computes what all questions begin with. Close it when it is no longer
// needed; the model stays open.
func NewClassifier(ctx context.Context, m lm.Scorer, t prompt.Task, demos []Demo, o Options) (*Classifier, error) {
	t = t.WithDefaults()
	if t.Kind == prompt.Generate || t.Open() {
		return nil, fmt.Errorf("task %s has no list of labels to choose from: list them in the task, or let the model write the answer", t.Name)
	}
	if o.MaxInputTokens < 0 {
		return nil, fmt.Errorf("%d tokens of a question cannot be used: give a positive number, or 0 for that of the task", o.MaxInputTokens)
	}
	if o.MaxInputTokens == 0 {
		o.MaxInputTokens = t.Limits.InputTokens
	}
	c := &Classifier{model: m, task: t, options: o}
	var err error
	if c.labels, err = newTrie(ctx, m.Tokenizer(), t.Labels); err != nil {
		return nil, err
	}
	if needsAll := c.labels.deep || c.wholeRoot(); needsAll && !m.Info().Can.All {
		return nil, &lm.UnsupportedError{
			Backend: m.Info().Backend, What: "score labels of several tokens",
			Missing: "it does not give whole distributions; use another model, or rename labels in the task so that each is one token",
		}
	}
	if err := c.open(ctx, demos); err != nil {
		return nil, err
	}
	if o.Calibrate {
		if err := c.calibrate(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// open starts a session and computes the prefix.
func (c *Classifier) open(ctx context.Context, demos []Demo) error {
	tokens, err := prefixTokens(ctx, c.model.Tokenizer(), c.task, demos)
	if err != nil {
		return err
	}
	longest := len(tokens) + c.options.MaxInputTokens + layoutTokens + c.labels.depth
	if limit := c.model.Info().Context; limit > 0 && longest > limit {
		return fmt.Errorf("%d demonstrations of %d tokens and a question of up to %d are more than the model's %d tokens: use fewer demonstrations or shorter questions",
			len(demos), len(tokens), c.options.MaxInputTokens, limit)
	}
	if c.session, err = c.model.Open(ctx); err != nil {
		return err
	}
	if c.root, err = c.session.New(); err == nil && len(tokens) > 0 {
		_, err = c.session.Step(ctx, []lm.Step{{Sequence: c.root, Tokens: tokens}})
	}
	if err != nil {
		return errors.Join(err, c.session.Close())
	}
	c.length = len(tokens)
	return nil
}

// layoutTokens is room for the names around a question.
const layoutTokens = 64

// prefixTokens are the instruction and the demonstrations. Segments are encoded one by
// one, see package prompt.
func prefixTokens(ctx context.Context, tok lm.Tokenizer, t prompt.Task, demos []Demo) ([]lm.Token, error) {
	var tokens []lm.Token
	if first, ok := tok.Beginning(); ok {
		tokens = append(tokens, first)
	}
	segments := []string{t.AnswerPrefix()}
	for _, d := range demos {
		segments = append(segments, t.AnswerDemo(oneLine(t, d.Input), d.Output))
	}
	for _, s := range segments {
		part, err := tok.Encode(ctx, s)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, part...)
	}
	return tokens, nil
}

// oneLine makes white space in the text of a classification task single spaces, as it
// is in the demonstrations. The input of a generation task may have lines.
func oneLine(t prompt.Task, s string) string {
	if t.Kind == prompt.Generate {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// Tokens is the length of the instruction and the demonstrations.
func (c *Classifier) Tokens() int { return c.length }

// Close forgets the prefix.
func (c *Classifier) Close() error { return c.session.Close() }

// wholeRoot reports whether the first token's probability has to be known over the
// whole vocabulary: otherwise its share among the labels' first tokens does, as what
// it lacks is the same for all labels.
func (c *Classifier) wholeRoot() bool { return c.options.Normalise && c.labels.uneven }

// Classify answers questions, in their order.
func (c *Classifier) Classify(ctx context.Context, inputs []string) ([]Prediction, error) {
	all, err := c.probabilities(ctx, inputs)
	if err != nil {
		return nil, err
	}
	predictions := make([]Prediction, len(all))
	for i, p := range all {
		if c.weights != nil {
			divide(p, c.weights)
		}
		best := 0
		for j := range p {
			if p[j] > p[best] {
				best = j
			}
		}
		predictions[i] = Prediction{Label: c.task.Labels[best], Scores: p}
	}
	return predictions, nil
}

// calibrate finds the mean probability of labels on questions without content.
func (c *Classifier) calibrate(ctx context.Context) error {
	all, err := c.probabilities(ctx, contentFree)
	if err != nil {
		return err
	}
	c.weights = make([]float64, len(c.task.Labels))
	for _, p := range all {
		for j := range p {
			c.weights[j] += p[j] / float64(len(all))
		}
	}
	return nil
}

// leastWeight keeps quotients finite where a label is never expected.
const leastWeight = 1e-300

// divide makes p proportional to p/w.
func divide(p, w []float64) {
	var sum float64
	for j := range p {
		p[j] /= max(w[j], leastWeight)
		sum += p[j]
	}
	for j := range p {
		p[j] /= sum
	}
}

// probabilities asks all questions, as many at once as a pass takes.
func (c *Classifier) probabilities(ctx context.Context, inputs []string) ([][]float64, error) {
	sequences := passSequences
	if limit := c.model.Info().Sequences; limit > 0 {
		sequences = min(sequences, limit)
	}
	var all [][]float64
	for next := 0; next < len(inputs); {
		var items [][]lm.Token
		for total := 0; next < len(inputs) && len(items) < sequences; next++ {
			tokens, err := itemTokens(ctx, c.model.Tokenizer(), c.task, inputs[next], c.options.MaxInputTokens)
			if err != nil {
				return nil, err
			}
			if total += len(tokens); total > passTokens && len(items) > 0 {
				break
			}
			items = append(items, tokens)
		}
		scores, err := c.pass(ctx, items, sequences)
		if err != nil {
			return nil, err
		}
		for _, logs := range scores {
			all = append(all, c.softmax(logs))
		}
	}
	return all, nil
}

// softmax makes probabilities of labels' log-probabilities.
func (c *Classifier) softmax(logs []float64) []float64 {
	if c.options.Normalise {
		for j := range logs {
			logs[j] /= float64(c.labels.lengths[j])
		}
	}
	p := lm.LogSoftmax(logs)
	for j := range p {
		p[j] = math.Exp(p[j])
	}
	return p
}

// itemTokens are the tokens of a question, cut to a number of tokens.
func itemTokens(ctx context.Context, tok lm.Tokenizer, t prompt.Task, input string, most int) ([]lm.Token, error) {
	input, err := cut(ctx, tok, oneLine(t, input), most)
	if err != nil {
		return nil, err
	}
	return tok.Encode(ctx, t.AnswerItem(input))
}

// cut leaves the first tokens of a text.
func cut(ctx context.Context, tok lm.Tokenizer, s string, most int) (string, error) {
	tokens, err := tok.Encode(ctx, s)
	if err != nil || len(tokens) <= most {
		return s, err
	}
	s, err = tok.Decode(ctx, tokens[:most])
	return strings.ToValidUTF8(s, ""), err // the last token may end within a character
}
