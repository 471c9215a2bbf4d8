package icl

import (
	"context"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/evidence/nearest"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// textAnswerer answers with a model that takes whole prompts and generates by itself.
type textAnswerer struct {
	model   lm.Model
	task    prompt.Task
	options Options
	// tokenizer, if the model has one, cuts questions; prefix is their beginning, as tokens
	// with it and as text without.
	tokenizer lm.Tokenizer
	prefix    []lm.Token
	text      string
	chat      *reply.Conversation // in place of both
	limit     int                 // of tokens
	usage     lm.Usage
	hints     *hints
	near      *nearest.Picker // picks the demonstrations of each question, if set
}

var _ Answerer = (*textAnswerer)(nil)

func newTextAnswerer(ctx context.Context, m lm.Model, t prompt.Task, demos []prompt.Example, o Options) (*textAnswerer, error) {
	t = t.WithDefaults()
	o, err := o.filled(t)
	if err != nil {
		return nil, err
	}
	if err := o.written(); err != nil {
		return nil, err
	}
	if can := m.Info().Can; !can.Generate && !can.Chat {
		return nil, &lm.UnsupportedError{Backend: m.Info().Backend, What: "answer questions", Missing: "it does not write text; use a language model"}
	}
	told := o.hints(t, tokenizerOf(m))
	if demos, err = told.demos(ctx, demos); err != nil {
		return nil, err
	}
	near, err := o.near(ctx, demos)
	if err != nil {
		return nil, err
	}
	if near != nil {
		demos = nil
	}
	w := &textAnswerer{model: m, task: t, options: o, hints: told, near: near, text: strings.Join(prompt.Prompt{Examples: demos}.Segments(t), "")}
	if w.limit, err = reply.Limit(ctx, tokenizerOf(m), t); err != nil {
		return nil, err
	}
	if o.Form.Turns() {
		w.chat, err = conversationOf(m, t, demos, o.Form)
		return w, err
	}
	if tok := tokenizerOf(m); tok != nil && m.Info().Can.Generate {
		w.tokenizer = tok
		w.prefix, err = reply.Prefix(ctx, w.tokenizer, t, prompt.Prompt{Examples: demos})
	}
	return w, err
}

func (w *textAnswerer) Describe() string {
	return w.options.describeNear(w.hints.describe(howWritten(w.task)))
}

// howWritten is how answers are found that a model writes.
func howWritten(t prompt.Task) string {
	if reply.Listed(t) {
		return howMatch
	}
	return howWriting
}

// conversationOf lays questions out as turns.
func conversationOf(m lm.Model, t prompt.Task, demos []prompt.Example, f prompt.Form) (*reply.Conversation, error) {
	if !m.Info().Can.Chat {
		return nil, &lm.UnsupportedError{Backend: m.Info().Backend, What: "answer turns of a chat", Missing: "the model has no chat template; ask it in one text"}
	}
	return reply.NewConversation(t, prompt.Prompt{Examples: demos, Form: f}, tokenizerOf(m)), nil
}

// tokenizerOf returns the tokeniser of a model, nil if it has none.
func tokenizerOf(m lm.Model) lm.Tokenizer {
	if s, ok := m.(lm.Scorer); ok && s.Info().Can.Candidates { // that of one which only writes is rough
		return s.Tokenizer()
	}
	return nil
}

// Usage returns the model's usage while it generated; concurrent calls of others are
// included.
func (w *textAnswerer) Usage() lm.Usage { return w.usage }

func (w *textAnswerer) Close() error { return nil }

func (w *textAnswerer) Answer(ctx context.Context, inputs []string) ([]string, error) {
	inputs, err := w.hints.questions(ctx, inputs)
	if err != nil {
		return nil, err
	}
	before := w.model.Usage()
	defer func() { w.usage = w.usage.Plus(less(w.model.Usage(), before)) }()
	answers := make([]string, 0, len(inputs))
	options := reply.Writing(w.task, w.turns(), w.limit)
	own, err := picks(ctx, w.near, inputs)
	if err != nil {
		return nil, err
	}
	for len(inputs) > 0 {
		n := min(len(inputs), w.options.sequences(w.model.Info()))
		prompts := make([]lm.Prompt, n)
		for i, input := range inputs[:n] {
			var err error
			if prompts[i], err = w.prompt(ctx, input, own[i]); err != nil {
				return nil, err
			}
		}
		texts, err := w.model.Generate(ctx, prompts, options)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			answers = append(answers, w.answer(text.Text))
		}
		inputs, own = inputs[n:], own[n:]
	}
	return answers, nil
}

// prompt returns a whole prompt: turns if they were asked for, tokens if the model has a
// tokeniser, otherwise a text; a message for a model that only chats.
// Demonstrations of the question's own come before it.
func (w *textAnswerer) prompt(ctx context.Context, input string, own []prompt.Example) (lm.Prompt, error) {
	if w.chat != nil {
		chat := w.chat
		if own != nil {
			chat = reply.NewConversation(w.task, prompt.Prompt{Examples: own, Form: w.options.Form}, tokenizerOf(w.model))
		}
		turns, err := chat.Asked(ctx, input)
		return lm.Prompt{Messages: turns}, err
	}
	if w.tokenizer != nil {
		before, err := reply.Examples(ctx, w.tokenizer, w.task, own)
		if err != nil {
			return lm.Prompt{}, err
		}
		item, err := reply.Item(ctx, w.tokenizer, w.task, input)
		return lm.Prompt{Tokens: slices.Concat(w.prefix, before, item)}, err
	}
	text := w.text
	if own != nil {
		text = strings.Join(prompt.Prompt{Examples: own}.Segments(w.task), "")
	}
	text += w.task.AnswerItem(reply.Input(w.task, input))
	if w.model.Info().Can.Generate {
		return lm.Prompt{Text: text}, nil
	}
	return lm.Prompt{Messages: []lm.Message{{Role: lm.User, Content: strings.TrimSpace(text)}}}, nil
}

// turns reports whether answers are turns: those of a model that only chats always are.
func (w *textAnswerer) turns() bool { return w.chat != nil || !w.model.Info().Can.Generate }

// answer extracts the answer from a generated text.
func (w *textAnswerer) answer(text string) string {
	text = reply.Written(w.task, w.turns(), text)
	if reply.Listed(w.task) && !w.turns() {
		return reply.Match(w.task, text)
	}
	return text
}

func less(a, b lm.Usage) lm.Usage {
	return lm.Usage{Computed: a.Computed - b.Computed, Cached: a.Cached - b.Cached, Rows: a.Rows - b.Rows, Requests: a.Requests - b.Requests}
}
