package icl

import (
	"context"
	"errors"

	"sotto/lm"
	"sotto/prompt"
)

// visit is a question that has gone as far into the labels as a node.
type visit struct {
	item     int
	node     *node
	sequence lm.Sequence
	tokens   []lm.Token // to extend the sequence with
}

// pass scores all labels after some questions: a log-probability for each question
// and label, where a number common to all labels of a question may be missing.
func (c *Classifier) pass(ctx context.Context, items [][]lm.Token, sequences int) (scores [][]float64, err error) {
	var opened []lm.Sequence
	defer func() {
		for _, s := range opened {
			err = errors.Join(err, c.session.Drop(s))
		}
	}()
	fork := func(from lm.Sequence) (lm.Sequence, error) {
		s, err := c.session.Fork(from)
		if err == nil {
			opened = append(opened, s)
		}
		return s, err
	}
	scores = make([][]float64, len(items))
	var level []visit
	for i, tokens := range items {
		scores[i] = make([]float64, len(c.task.Labels))
		s, err := fork(c.root)
		if err != nil {
			return nil, err
		}
		level = append(level, visit{i, c.labels.root, s, tokens})
	}
	for len(level) > 0 {
		var next []visit
		for from := 0; from < len(level); from += sequences {
			part := level[from:min(from+sequences, len(level))]
			answers, err := c.ask(ctx, part)
			if err != nil {
				return nil, err
			}
			for i, v := range part {
				for j, child := range v.node.children {
					for _, label := range child.labels {
						scores[v.item][label] += answers[i][j]
					}
					if len(child.children) == 0 {
						continue
					}
					s, err := fork(v.sequence)
					if err != nil {
						return nil, err
					}
					next = append(next, visit{v.item, child, s, []lm.Token{child.token}})
				}
			}
		}
		level = next
	}
	return scores, nil
}

// ask extends sequences, and gives log-probabilities of the children of each node.
func (c *Classifier) ask(ctx context.Context, visits []visit) ([][]float64, error) {
	steps := make([]lm.Step, len(visits))
	for i, v := range visits {
		ask := lm.Ask{All: true}
		if v.node == c.labels.root && !c.wholeRoot() {
			ask = lm.Ask{Candidates: v.node.tokens()}
		}
		steps[i] = lm.Step{Sequence: v.sequence, Tokens: v.tokens, Ask: ask}
	}
	answers, err := c.session.Step(ctx, steps)
	if err != nil {
		return nil, err
	}
	logs := make([][]float64, len(visits))
	for i, a := range answers {
		logs[i] = a.LogProbs
		if a.Tokens == nil {
			logs[i] = make([]float64, len(visits[i].node.children))
			for j, child := range visits[i].node.children {
				logs[i][j] = a.LogProbs[child.token]
			}
		}
	}
	return logs, nil
}

// Answer lets the model write an answer to each question: its best token at each step,
// to the end of the line or what else the task says ends a text. It serves tasks whose
// answers are not of a list, and any model.
func Answer(ctx context.Context, m lm.Model, t prompt.Task, demos []Demo, inputs []string, o Options) ([]string, error) {
	t = t.WithDefaults()
	if o.MaxInputTokens == 0 {
		o.MaxInputTokens = t.Limits.InputTokens
	}
	prefix := t.AnswerPrefix()
	for _, d := range demos {
		prefix += t.AnswerDemo(oneLine(t, d.Input), d.Output)
	}
	var answers []string
	for from := 0; from < len(inputs); from += passSequences {
		var prompts []lm.Prompt
		for _, input := range inputs[from:min(from+passSequences, len(inputs))] {
			input = oneLine(t, input)
			if s, ok := m.(lm.Scorer); ok {
				var err error
				if input, err = cut(ctx, s.Tokenizer(), input, o.MaxInputTokens); err != nil {
					return nil, err
				}
			}
			prompts = append(prompts, lm.Prompt{Text: prefix + t.AnswerItem(input)})
		}
		texts, err := m.Generate(ctx, prompts, lm.GenerateOptions{MaxTokens: t.Limits.AnswerTokens, Stop: t.Stop})
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			answer, _ := t.Cut(text.Text)
			answers = append(answers, answer)
		}
	}
	return answers, nil
}
