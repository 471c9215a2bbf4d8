package icl

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// writing answers with a model that takes whole prompts and generates by itself.
type writing struct {
	model   lm.Model
	task    prompt.Task
	options Options
	// tokenizer, if the model has one, cuts questions; prefix is their beginning, as tokens
	// with it and as text without.
	tokenizer lm.Tokenizer
	prefix    []lm.Token
	text      string
	chat      *chat // in place of both
	usage     lm.Usage
}

var _ Answerer = (*writing)(nil)

func newWriting(ctx context.Context, m lm.Model, t prompt.Task, demos []Demo, o Options) (*writing, error) {
	t = t.WithDefaults()
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	if can := m.Info().Can; !can.Generate && !can.Chat {
		return nil, &lm.UnsupportedError{Backend: m.Info().Backend, What: "answer questions", Missing: "it does not write text; use a language model"}
	}
	w := &writing{model: m, task: t, options: o, text: strings.Join(prompt.Prompt{Examples: demos}.Segments(t), "")}
	if o.Chat {
		w.chat, err = newChat(m, t, demos)
		return w, err
	}
	if s, ok := m.(lm.Scorer); ok && m.Info().Can.Generate {
		w.tokenizer = s.Tokenizer()
		w.prefix, err = reply.Prefix(ctx, w.tokenizer, t, prompt.Prompt{Examples: demos})
	}
	return w, err
}

func (w *writing) Describe() string {
	if listed(w.task) {
		return howMatch
	}
	return howWriting
}

// Usage returns the model's usage while it generated; concurrent calls of others are
// included.
func (w *writing) Usage() lm.Usage { return w.usage }

func (w *writing) Close() error { return nil }

func (w *writing) Answer(ctx context.Context, inputs []string) ([]string, error) {
	answers, err := w.write(ctx, inputs)
	if err == nil && listed(w.task) {
		for i := range answers {
			answers[i] = match(w.task, answers[i])
		}
	}
	return answers, err
}

func (w *writing) write(ctx context.Context, inputs []string) ([]string, error) {
	before := w.model.Usage()
	defer func() { w.usage = w.usage.Plus(less(w.model.Usage(), before)) }()
	answers := make([]string, 0, len(inputs))
	options := lm.GenerateOptions{MaxTokens: w.task.Limits.AnswerTokens, Stop: w.task.Stop}
	for len(inputs) > 0 {
		n := min(len(inputs), w.options.sequences(w.model.Info()))
		prompts := make([]lm.Prompt, n)
		for i, input := range inputs[:n] {
			var err error
			if prompts[i], err = w.prompt(ctx, input); err != nil {
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
		inputs = inputs[n:]
	}
	return answers, nil
}

// prompt returns a whole prompt: turns if they were asked for, tokens if the model has a
// tokeniser, otherwise a text; a message for a model that only chats.
func (w *writing) prompt(ctx context.Context, input string) (lm.Prompt, error) {
	if w.options.Chat {
		turns, err := w.chat.asked(ctx, input)
		return lm.Prompt{Messages: turns}, err
	}
	if w.tokenizer != nil {
		item, err := reply.Item(ctx, w.tokenizer, w.task, input)
		return lm.Prompt{Tokens: append(w.prefix[:len(w.prefix):len(w.prefix)], item...)}, err
	}
	text := w.text + w.task.AnswerItem(reply.Input(w.task, input))
	if w.model.Info().Can.Generate {
		return lm.Prompt{Text: text}, nil
	}
	return lm.Prompt{Messages: []lm.Message{{Role: lm.User, Content: strings.TrimSpace(text)}}}, nil
}

// answer extracts the answer from a generated text. A model that only chats may begin with
// a line end, or with the name that the prompt ended with.
func (w *writing) answer(text string) string {
	if w.options.Chat || !w.model.Info().Can.Generate {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if rest, ok := cutFold(text, w.task.Answer.Output+":"); ok {
			text = rest
		}
	}
	text, _ = w.task.Cut(text)
	return text
}

// match returns the label that a text is, or begins with as a word, in any case: the
// longest, or "" if there is none. Aliases count.
func match(t prompt.Task, text string) string {
	if label, ok := t.ResolveLabel(text); ok {
		return label
	}
	spellings := map[string]string{}
	for from := range t.Aliases {
		if label, ok := t.ResolveLabel(from); ok {
			spellings[from] = label
		}
	}
	for _, l := range t.Labels {
		spellings[l] = l
	}
	best, found := "", ""
	for spelling, label := range spellings {
		rest, ok := cutFold(text, spelling)
		if next, _ := utf8.DecodeRuneInString(rest); !ok || unicode.IsLetter(next) || unicode.IsDigit(next) {
			continue
		}
		// Of spellings that differ in case alone, the order of the list decides.
		if len(spelling) > len(best) || len(spelling) == len(best) && before(t.Labels, label, found) {
			best, found = spelling, label
		}
	}
	return found
}

func before(list []string, a, b string) bool {
	for _, l := range list {
		if l == a || l == b {
			return l == a
		}
	}
	return false
}

// cutFold cuts a beginning off, whatever its case.
func cutFold(s, beginning string) (string, bool) {
	if len(s) < len(beginning) || !strings.EqualFold(s[:len(beginning)], beginning) {
		return s, false
	}
	return s[len(beginning):], true
}

func less(a, b lm.Usage) lm.Usage {
	return lm.Usage{Computed: a.Computed - b.Computed, Cached: a.Cached - b.Cached, Rows: a.Rows - b.Rows, Requests: a.Requests - b.Requests}
}
