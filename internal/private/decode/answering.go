package decode

import (
	"cmp"
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// checkAnswering finds whether answers of a task can be written.
func checkAnswering(t prompt.Task) error {
	if t.Kind == prompt.Classify || !t.Open() {
		return fmt.Errorf("the answers of task %q are labels of a list, which are voted on, not written: use the method vote", t.Name)
	}
	return nil
}

// Question is one that is about to be answered, with all that decides whether it can be:
// none of it is private, so that it can be checked before anything is paid for.
type Question struct {
	Model lm.TrustedScorer
	Task  prompt.Task
	Input string
	// Records that a prompt has at most; 0 for none.
	Records int
	// Tokens of an answer at most; 0 takes the task's limit.
	Tokens int
}

// QuestionError says why a question cannot be answered, and what to do.
type QuestionError struct{ Reason string }

// Error returns the reason.
func (e *QuestionError) Error() string { return e.Reason }

// seam is room for tokens that a text has more of within its layout than alone.
const seam = 8

// Check finds a question that is empty, or longer than the task's limit or the model's
// context allows.
func (q Question) Check(ctx context.Context) error {
	t := q.Task.WithDefaults()
	input := questionText(t, q.Input)
	if joined(input) == "" {
		return &QuestionError{"the input is empty: there is nothing to answer"}
	}
	count := func(text string) (int, error) {
		if text == "" {
			return 0, nil
		}
		tokens, err := q.Model.Tokenizer().Encode(ctx, text)
		if err != nil {
			return 0, fmt.Errorf("measure the input: %w", err)
		}
		return len(tokens), nil
	}
	own, err := count(input)
	if err != nil {
		return err
	}
	if own > t.Limits.InputTokens {
		return &QuestionError{fmt.Sprintf("the input has %d tokens, and the task takes %d: shorten it, or raise input_tokens in the limits of the task", own, t.Limits.InputTokens)}
	}
	context := q.Model.Info().Context
	if context <= 0 {
		return nil
	}
	prefix, err := count(t.AnswerPrefix())
	if err != nil {
		return err
	}
	item, err := count(t.AnswerItem(input))
	if err != nil {
		return err
	}
	layout, err := count(t.AnswerDemo("", ""))
	if err != nil {
		return err
	}
	condition, text := Layout{Task: t, Answering: true}.recordLimits()
	longest := 1 + prefix + item + q.Records*(layout+condition+text+seam) + cmp.Or(q.Tokens, t.Limits.AnswerTokens)
	if longest > context {
		return &QuestionError{fmt.Sprintf("with the input, a prompt and its answer may have %d tokens, more than the model's %d: shorten the input, lower the limits of the task, or use a model with a longer context", longest, context)}
	}
	return nil
}
