package reply

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Writer has a model write answers: at each step its best token, to an end of the task's texts
// (the end of a line, for most), to the model's own end, or to a limit of tokens. Which
// token ends a line depends on the vocabulary: many have one for two line ends. So ends are found
// in the text, and not among tokens.
type Writer struct {
	// Session, Tokenizer and Task are required. Task has its defaults.
	Session   lm.Session
	Tokenizer lm.Tokenizer
	Task      prompt.Task
	// Turn says that an answer is a turn of a conversation, which [Read] reads.
	Turn bool
	// Limit of tokens, if not that of the task.
	Limit int

	reads *reader
}

// Line is an answer in the making.
type Line struct {
	// ID is the caller's.
	ID int
	// Want, if set, is the only answer that is of interest: the line ends as soon as it cannot
	// become that.
	Want string

	sequence lm.Sequence
	next     []lm.Token // to extend the sequence with
	written  []lm.Token
	text     string
}

// Answer returns what is read off a line that has come to its end.
func (w *Writer) Answer(l *Line) string {
	if w.Turn {
		return w.reader().read(l.text)
	}
	return Written(w.Task, false, l.text)
}

// Written returns the answer in what a model wrote, as its turn or after a text.
func Written(t prompt.Task, turn bool, written string) string {
	if turn {
		return Read(t, written)
	}
	text, _ := t.Cut(written)
	return text
}

// Writing are the options with which a model writes answers by itself, of at most so many tokens.
func Writing(t prompt.Task, turn bool, limit int) lm.GenerateOptions {
	o := lm.GenerateOptions{MaxTokens: limit}
	if !turn { // a turn may begin with a line end
		o.Stop = t.Stop
	}
	return o
}

// Begin forks a sequence for the answer to a question, whose tokens resume from it.
func (w *Writer) Begin(l *Line, from lm.Sequence, question []lm.Token) (err error) {
	l.next = question
	l.sequence, err = w.Session.Fork(from)
	return err
}

// Step writes a token of each line. Lines that have come to their end are dropped from the
// session and handed to done; the others are returned, also beside an error.
func (w *Writer) Step(ctx context.Context, active []*Line, done func(*Line)) ([]*Line, error) {
	steps := make([]lm.Step, len(active))
	for i, l := range active {
		steps[i] = lm.Step{Sequence: l.sequence, Tokens: l.next, Ask: lm.Ask{Top: 1}}
	}
	scores, err := w.Session.Step(ctx, steps)
	if err != nil {
		return active, err
	}
	left := make([]*Line, 0, len(active))
	for i, l := range active {
		ended, err := w.take(ctx, l, scores[i].Tokens[0])
		if err != nil {
			return append(left, active[i:]...), err
		}
		if !ended {
			left = append(left, l)
			continue
		}
		if err := w.Session.Drop(l.sequence); err != nil {
			return append(left, active[i+1:]...), err
		}
		done(l)
	}
	return left, nil
}

// take appends a token, and reports whether the line has come to its end.
func (w *Writer) take(ctx context.Context, l *Line, token lm.Token) (bool, error) {
	if slices.Contains(w.Tokenizer.Ends(), token) {
		return true, nil
	}
	l.written = append(l.written, token)
	l.next = []lm.Token{token}
	var err error
	if l.text, err = w.Tokenizer.Decode(ctx, l.written); err != nil {
		return false, err
	}
	return len(l.written) >= cmp.Or(w.Limit, w.Task.Limits.AnswerTokens) || w.settled(l), nil
}

// settled reports whether what is of interest about a line no longer changes.
func (w *Writer) settled(l *Line) bool {
	r := w.reader()
	if !w.Turn {
		if _, stopped := w.Task.Cut(l.text); stopped {
			return true
		}
		return l.Want != "" && !r.canBecome(l.Want, l.text)
	}
	if r.settled(l.text) {
		return true
	}
	return l.Want != "" && !Listed(w.Task) && !r.naming(l.text) && !r.canBecome(l.Want, r.bare(l.text))
}

func (w *Writer) reader() *reader {
	if w.reads == nil {
		w.reads = newReader(w.Task)
	}
	return w.reads
}

// Drop gives lines up.
func (w *Writer) Drop(active []*Line) (err error) {
	for _, l := range active {
		err = errors.Join(err, w.Session.Drop(l.sequence))
	}
	return err
}
