package plan

import (
	"context"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// AnswerShapeOf measures a task's prompts for answers with a tokeniser. Records and
// questions are taken to be at the task's limits: neither is looked at.
func AnswerShapeOf(ctx context.Context, tokenizer lm.Tokenizer, t prompt.Task) (Shape, error) {
	t = t.WithDefaults()
	l := lengths{ctx: ctx, tokenizer: tokenizer, of: "the prompts for answers"}
	input, answer := float64(t.Limits.InputTokens), float64(t.Limits.AnswerTokens)
	if t.Kind == prompt.Generate {
		answer = float64(t.Limits.RecordTokens)
	}
	return Shape{
		Instruction: l.opening(t.AnswerPrefix()),
		Head:        l.count(t.AnswerItem("")) + input,
		Record:      l.count(t.AnswerDemo("", "")) + input + answer,
	}, l.err
}

// Cost predicts the work of one answer that is as long as it may be, by [AnswerShapeOf].
// The instruction is counted with each, as if every question came by itself.
func (a Answers) Cost(s Shape, v Speed) Cost {
	if a.Ensemble.Method != nil {
		return a.ensembleCost(s, v)
	}
	return a.texts().Cost(s, v)
}

// Draws is [Plan.Draws] of an answer.
func (a Answers) Draws() string {
	if a.Ensemble.Method != nil {
		return drawsOf(a.Scheme(), a.Size)
	}
	return a.texts().Draws()
}
