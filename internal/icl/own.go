package icl

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/labels"
	"github.com/sotto-dp/sotto/prompt"
)

// Query is a question with its own demonstrations, which follow the common ones.
type Query struct {
	Demos []prompt.Example `json:"demos"`
	Input string           `json:"input"`
}

// ownQuery is one in tokens: those of its demonstrations, and what is asked after them.
// The question comes first, then those without content if labels are calibrated.
type ownQuery struct {
	demos []lm.Token
	asked [][]lm.Token
	total int
	// evidence for labels, where it is combined with their scores.
	evidence []float64
}

// ClassifyEach answers questions with their own demonstrations, in their order, as if each
// had its own classifier. Calibration uses content-free questions after each question's own
// demonstrations. It is for prompts that are one text.
func (c *Classifier) ClassifyEach(ctx context.Context, questions []Query) ([]Prediction, error) {
	free, err := c.contentFree(ctx)
	if err != nil {
		return nil, err
	}
	evidence, err := c.evidentEach(ctx, questions)
	if err != nil {
		return nil, err
	}
	if questions, err = c.hintedEach(ctx, questions); err != nil {
		return nil, err
	}
	all := make([]Prediction, 0, len(questions))
	limit := c.options.sequences(c.model.Info())
	var pass []ownQuery
	total := 0
	flush := func() error {
		some, err := c.classifyOwn(ctx, pass)
		all = append(all, some...)
		pass, total = pass[:0], 0
		return err
	}
	for i, q := range questions {
		own, err := c.own(ctx, q, free)
		if err != nil {
			return nil, err
		}
		own.evidence = evidence[i]
		if len(pass) == limit || len(pass) > 0 && total+own.total > c.options.PassTokens {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		pass = append(pass, own)
		total += own.total
	}
	if len(pass) > 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// evidentEach is the evidence for questions.
func (c *Classifier) evidentEach(ctx context.Context, questions []Query) ([][]float64, error) {
	inputs := make([]string, len(questions))
	for i, q := range questions {
		inputs[i] = q.Input
	}
	return c.options.evident(ctx, inputs)
}

// hintedEach returns questions with hints, in their demonstrations too.
func (c *Classifier) hintedEach(ctx context.Context, questions []Query) ([]Query, error) {
	if c.hints == nil {
		return questions, nil
	}
	out := make([]Query, len(questions))
	for i, q := range questions {
		demos, err := c.hints.demos(ctx, q.Demos)
		if err != nil {
			return nil, err
		}
		inputs, err := c.hints.questions(ctx, []string{q.Input})
		if err != nil {
			return nil, err
		}
		out[i] = Query{demos, inputs[0]}
	}
	return out, nil
}

// contentFree returns the questions that labels are calibrated by, none without
// calibration.
func (c *Classifier) contentFree(ctx context.Context) ([][]lm.Token, error) {
	if c.weights == nil {
		return nil, nil
	}
	var out [][]lm.Token
	for _, input := range prompt.ContentFree() {
		tokens, err := reply.Item(ctx, c.model.Tokenizer(), c.task, input)
		if err != nil {
			return nil, err
		}
		out = append(out, tokens)
	}
	return out, nil
}

// own turns a question into tokens.
func (c *Classifier) own(ctx context.Context, q Query, free [][]lm.Token) (ownQuery, error) {
	var own ownQuery
	var err error
	if own.demos, err = reply.Examples(ctx, c.model.Tokenizer(), c.task, q.Demos); err != nil {
		return own, err
	}
	asked, err := reply.Item(ctx, c.model.Tokenizer(), c.task, q.Input)
	if err != nil {
		return own, err
	}
	own.asked = append([][]lm.Token{asked}, free...)
	longest := 0
	own.total = len(own.demos)
	for _, tokens := range own.asked {
		own.total += len(tokens)
		longest = max(longest, len(tokens))
	}
	whole := c.length + len(own.demos) + longest + c.labels.Depth()
	if limit := c.model.Info().Context; limit > 0 && whole > limit {
		return own, fmt.Errorf("%d demonstrations and a question make a prompt of %d tokens, which is more than the model's %d: use fewer or shorter demonstrations, or a model with a longer context",
			len(q.Demos), whole, limit)
	}
	return own, nil
}

// classifyOwn answers the questions of one pass. What their demonstrations take is
// forgotten afterwards.
func (c *Classifier) classifyOwn(ctx context.Context, pass []ownQuery) (out []Prediction, err error) {
	var open []lm.Sequence
	defer func() {
		for _, s := range open {
			err = errors.Join(err, c.session.Drop(s))
		}
		if err != nil {
			out = nil
		}
	}()
	var steps []lm.Step
	var list []labels.Prompt
	for _, q := range pass {
		s, err := c.session.Fork(c.root)
		if err != nil {
			return nil, err
		}
		open = append(open, s)
		if len(q.demos) > 0 {
			steps = append(steps, lm.Step{Sequence: s, Tokens: q.demos})
		}
		for _, tokens := range q.asked {
			list = append(list, labels.Prompt{From: s, Tokens: tokens})
		}
	}
	if len(steps) > 0 {
		if _, err := c.session.Step(ctx, steps); err != nil {
			return nil, err
		}
	}
	scores, err := c.score(ctx, list)
	if err != nil {
		return nil, err
	}
	for _, q := range pass {
		var weights []float64
		if free := scores[1:len(q.asked)]; len(free) > 0 {
			weights = reply.Weights(free)
		}
		out = append(out, c.predict(scores[0], weights, q.evidence))
		scores = scores[len(q.asked):]
	}
	return out, nil
}
