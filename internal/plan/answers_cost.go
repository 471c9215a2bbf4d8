package plan

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// AnswerShapeOf measures a task's prompts for answers with a tokeniser. Records and
// questions are taken to be at the task's limits: neither is looked at.
func AnswerShapeOf(ctx context.Context, tokenizer lm.Tokenizer, t prompt.Task) (Shape, error) {
	t = t.WithDefaults()
	var failed error
	count := func(text string) float64 {
		if text == "" || failed != nil {
			return 0
		}
		tokens, err := tokenizer.Encode(ctx, text)
		if err != nil {
			failed = fmt.Errorf("measure the prompts for answers: %w", err)
		}
		return float64(len(tokens))
	}
	input, answer := float64(t.Limits.InputTokens), float64(t.Limits.AnswerTokens)
	if t.Kind == prompt.Generate {
		answer = float64(t.Limits.RecordTokens)
	}
	s := Shape{
		Instruction: int(count(t.AnswerPrefix())),
		Head:        count(t.AnswerItem("")) + input,
		Record:      count(t.AnswerDemo("", "")) + input + answer,
	}
	if _, ok := tokenizer.Beginning(); ok {
		s.Instruction++
	}
	return s, failed
}

// Cost predicts the work of one answer that is as long as it may be, by [AnswerShapeOf].
// The instruction is counted with each, as if every question came by itself.
func (a Answers) Cost(s Shape, v Speed) Cost {
	if a.Ensemble.Method != nil {
		return a.ensembleCost(s, v)
	}
	p := a.texts()
	p.Shots = 1
	return p.Cost(s, v)
}

// Noise is [Plan.Noise] of an answer.
func (a Answers) Noise() string {
	if a.Ensemble.Method != nil {
		return spans([][]method.Amount{a.Ensemble.Amounts()})
	}
	return a.texts().Noise()
}

// Draws is [Plan.Draws] of an answer.
func (a Answers) Draws() string {
	if a.Ensemble.Method != nil {
		return drawsOf(a.Scheme(), a.Size)
	}
	return a.texts().Draws()
}
