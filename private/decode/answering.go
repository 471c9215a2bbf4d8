package decode

import (
	"context"
	"fmt"

	"sotto/lm"
	"sotto/prompt"
)

// checkAnswering finds whether answers of a task can be written.
func checkAnswering(t prompt.Task) error {
	if t.Kind == prompt.Classify || !t.Open() {
		return fmt.Errorf("the answers of task %q are labels of a list, which are voted on, not written: use the method vote", t.Name)
	}
	return nil
}

// prefixText is what all prompts begin with.
func (w *Writer) prefixText() string {
	if w.Answering {
		return w.task.AnswerPrefix()
	}
	return w.task.GenerationPrefix()
}

// head are the tokens that ask for a text, or for the answer to a question. A question is
// cut to the task's limit; [Question.Check] finds one that is too long.
func (w *Writer) head(ctx context.Context, condition string) ([]lm.Token, error) {
	if !w.Answering {
		return w.tokenizer.Encode(ctx, w.task.GenerationHead(condition))
	}
	question, err := w.cut(ctx, questionText(w.task, condition), w.task.Limits.InputTokens)
	if err != nil {
		return nil, err
	}
	return w.tokenizer.Encode(ctx, w.task.AnswerItem(question))
}

// questionText has the white space that questions have in demonstrations: the inputs of a
// generation task may have lines.
func questionText(t prompt.Task, question string) string {
	if t.Kind == prompt.Generate || !t.OneLine() {
		return question
	}
	return joined(question)
}

// demo lays out a record.
func (w *Writer) demo(condition, text string) string {
	switch {
	case !w.Answering:
		return w.task.GenerationDemo(condition, text)
	case w.task.Kind == prompt.Generate:
		return w.task.AnswerDemo(condition, text)
	}
	return w.task.AnswerDemo(text, condition)
}

// recordLimits are the most tokens of a record's condition and of its text that a prompt
// has: what is a question there has the length of questions.
func (w *Writer) recordLimits() (condition, text int) {
	limits := w.task.Limits
	switch {
	case w.task.Kind == prompt.Generate:
		return limits.InputTokens, limits.RecordTokens
	case w.Answering:
		return limits.AnswerTokens, limits.InputTokens
	}
	return limits.RecordTokens, limits.RecordTokens
}

// Question is one that is about to be answered, with all that decides whether it can be:
// none of it is private, so that it can be checked before anything is paid for.
type Question struct {
	Model lm.Trusted
	Task  prompt.Task
	Input string
	// Records that a prompt has at most; 0 for none.
	Records int
	// Tokens of an answer at most; 0 takes the task's limit.
	Tokens int
}

// QuestionError says why a question cannot be answered, and what to do.
type QuestionError struct{ Reason string }

// Error tells the reason.
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
	setDefault(&q.Tokens, t.Limits.AnswerTokens)
	condition, text := (&Writer{Options: Options{Answering: true}, task: t}).recordLimits()
	longest := 1 + prefix + item + q.Records*(layout+condition+text+seam) + q.Tokens
	if longest > context {
		return &QuestionError{fmt.Sprintf("with the input, a prompt and its answer may have %d tokens, more than the model's %d: shorten the input, lower the limits of the task, or use a model with a longer context", longest, context)}
	}
	return nil
}
