package decode

import (
	"context"
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Layout makes tokens of a prompt's pieces: for a text, or for the answer to a question.
// What a record becomes is a function of that record and of the public task alone.
type Layout struct {
	// Task has its defaults.
	Task      prompt.Task
	Tokenizer lm.Tokenizer
	// Answering lays out questions with their answers.
	Answering bool
}

// Opening is what all prompts begin with: the instruction.
func (l Layout) Opening(ctx context.Context) ([]lm.Token, error) {
	var opening []lm.Token
	if first, ok := l.Tokenizer.Beginning(); ok {
		opening = append(opening, first)
	}
	prefix := l.Task.GenerationPrefix()
	if l.Answering {
		prefix = l.Task.AnswerPrefix()
	}
	if prefix == "" {
		return opening, nil
	}
	tokens, err := l.Tokenizer.Encode(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("the instruction: %w", err)
	}
	return append(opening, tokens...), nil
}

// Head asks for a text, or for the answer to a question.
func (l Layout) Head(ctx context.Context, condition string) ([]lm.Token, error) {
	if !l.Answering {
		return l.Tokenizer.Encode(ctx, l.Task.GenerationHead(condition))
	}
	question, err := l.Question(ctx, condition)
	if err != nil {
		return nil, err
	}
	return l.Tokenizer.Encode(ctx, l.Task.AnswerItem(question))
}

// Question is one as prompts have it, cut to the task's limit; [Question.Check] finds one
// that is too long.
func (l Layout) Question(ctx context.Context, question string) (string, error) {
	return l.cut(ctx, questionText(l.Task, question), l.Task.Limits.InputTokens)
}

// questionText has the white space that questions have in demonstrations: the inputs of a
// generation task may have lines.
func questionText(t prompt.Task, question string) string {
	if t.Kind == prompt.Generate || !t.OneLine() {
		return question
	}
	return joined(question)
}

// Demonstration lays out one record, cut to the task's limits. Its errors do not say what
// is in it.
func (l Layout) Demonstration(ctx context.Context, r seal.Record) ([]lm.Token, error) {
	conditions, texts := l.recordLimits()
	condition, err := seal.Condition(r), error(nil)
	if l.Task.Open() { // a label that is cut is none
		condition, err = l.cut(ctx, condition, conditions)
	}
	var body string
	if err == nil {
		body, err = l.cut(ctx, l.Line(seal.Text(r)), texts)
	}
	var tokens []lm.Token
	if err == nil {
		tokens, err = l.Tokenizer.Encode(ctx, l.demo(condition, body))
	}
	if err != nil {
		return nil, fmt.Errorf("lay out a record: %w", err)
	}
	return tokens, nil
}

// Demonstrations lays out the records of one prompt in room for so many tokens; a room
// below 0 has no bound. A record that does not fit is left out, and the prompt is what it
// would be without it: an error would reveal that somebody's record is long, and end what
// was paid for.
//
// That keeps every sensitivity: what a prompt says is still a function of its own records
// and of public things, the room among them. So one unit adds, removes or exchanges the
// scores of one prompt, as before. A prompt that has lost all its records has the public
// scores, and still counts as a prompt.
func (l Layout) Demonstrations(ctx context.Context, records []seal.Record, room int) ([]lm.Token, error) {
	var tokens []lm.Token
	for _, r := range records {
		demo, err := l.Demonstration(ctx, r)
		if err != nil {
			return nil, err
		}
		if room < 0 || len(tokens)+len(demo) <= room {
			tokens = append(tokens, demo...)
		}
	}
	return tokens, nil
}

// Room is how many tokens of demonstrations a prompt has room for beside so many of its
// own, the text to come included: at least 0, or -1 if the model states no limit.
func Room(context, others int) int {
	if context <= 0 {
		return -1
	}
	return max(0, context-others)
}

func (l Layout) demo(condition, text string) string {
	switch {
	case !l.Answering:
		return l.Task.GenerationDemo(condition, text)
	case l.Task.Kind == prompt.Generate:
		return l.Task.AnswerDemo(condition, text)
	}
	return l.Task.AnswerDemo(text, condition)
}

// recordLimits are the most tokens of a record's condition and of its text that a prompt
// has: what is a question there has the length of questions.
func (l Layout) recordLimits() (condition, text int) {
	limits := l.Task.Limits
	switch {
	case l.Task.Kind == prompt.Generate:
		return limits.InputTokens, limits.RecordTokens
	case l.Answering:
		return limits.AnswerTokens, limits.InputTokens
	}
	return limits.RecordTokens, limits.RecordTokens
}

// Line makes one line of a text where texts end with their line.
func (l Layout) Line(text string) string {
	if l.Task.OneLine() {
		return joined(text)
	}
	return text
}

// joined makes all white space single spaces.
func joined(text string) string { return strings.Join(strings.Fields(text), " ") }

// cut shortens a text to a number of tokens.
func (l Layout) cut(ctx context.Context, s string, longest int) (string, error) {
	if s == "" {
		return s, nil
	}
	tokens, err := l.Tokenizer.Encode(ctx, s)
	if err != nil || len(tokens) <= longest {
		return s, err
	}
	s, err = l.Tokenizer.Decode(ctx, tokens[:longest])
	return strings.ToValidUTF8(s, ""), err
}
