package tokenizer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// Chat lays out messages as the model's chat template does, up to and including what
// opens the assistant's turn. Marks enter by number and contents by Encode, so that the
// spelling of a mark in a message is text.
//
// The template is recognised, not run (see the package comment). A template that is
// not known, or a conversation that the template refuses, gives an
// [*lm.UnsupportedError].
func (t *Tokenizer) Chat(messages []lm.Message) ([]lm.Token, error) {
	if err := t.checkChat(messages); err != nil {
		return nil, err
	}
	d := &draft{t: t}
	if t.addBOS || t.layout.bos {
		d.bos()
	}
	t.layout.write(d, messages)
	d.flush()
	return d.tokens, d.err
}

// Template names the layout of the model's chat template; "" if the model has none or
// one that is not known.
func (t *Tokenizer) Template() string {
	if t.layout == nil {
		return ""
	}
	return t.layout.name
}

func (t *Tokenizer) checkChat(messages []lm.Message) error {
	switch {
	case t.template == "":
		return refuse("lay out messages", "the model's file has no chat template: use a plain prompt, or a model that is made for chat")
	case t.layout == nil:
		return refuse("lay out messages", "the model's chat template is not one of those known here: use a plain prompt, laid out as the model's documentation says")
	case len(messages) == 0:
		return errors.New("a chat needs at least one message")
	}
	turn := 0
	for i, m := range messages {
		switch m.Role {
		case lm.System:
			if t.layout.system == nowhere || t.layout.system == onlyFirst && i > 0 {
				return refuse(fmt.Sprintf("lay out message %d", i), "the model's chat template has no place for a system message there: put its text into the first question")
			}
			continue
		case lm.User, lm.Assistant:
		default:
			return fmt.Errorf("message %d has an unknown role: the roles are %s, %s and %s", i, lm.System, lm.User, lm.Assistant)
		}
		if t.layout.turns && (m.Role == lm.User) != (turn%2 == 0) {
			return refuse(fmt.Sprintf("lay out message %d", i), "the model's chat template wants user and assistant to take turns, and the user to begin")
		}
		turn++
	}
	if t.layout.last && messages[len(messages)-1].Role != lm.User {
		return refuse("open an answer", "the model's chat template wants the last message to be the user's")
	}
	return nil
}

func refuse(what, missing string) error {
	return &lm.UnsupportedError{Backend: "the model's tokeniser", What: what, Missing: missing}
}

// draft collects the tokens of a conversation. Text between two marks is encoded as one.
type draft struct {
	t       *Tokenizer
	tokens  []lm.Token
	pending strings.Builder
	strip   bool // white space at the beginning of what is pending
	err     error
}

func (d *draft) text(texts ...string) {
	for _, s := range texts {
		d.pending.WriteString(s)
	}
}

// mark appends a mark by its spelling, or as text if the vocabulary has no such mark.
func (d *draft) mark(spelling string) {
	v := d.t.vocabulary
	if id, ok := v.ids[spelling]; ok && v.marks[id] {
		d.put(lm.Token(id))
		d.strip = d.t.strip && spelling != "<|endoftext|>"
		return
	}
	d.text(spelling)
}

// marks appends a text in which one mark occurs.
func (d *draft) marks(text, spelling string) {
	before, after, ok := strings.Cut(text, spelling)
	d.text(before)
	if ok {
		d.mark(spelling)
	}
	d.text(after)
}

func (d *draft) put(id lm.Token) {
	d.flush()
	d.tokens = append(d.tokens, id)
}

// bos appends the mark of the beginning, once at the same place.
func (d *draft) bos() {
	if d.t.bos == nil {
		return
	}
	d.flush()
	if n := len(d.tokens); n == 0 || d.tokens[n-1] != *d.t.bos {
		d.put(*d.t.bos)
	}
}

func (d *draft) eos() {
	if d.t.eos != nil {
		d.put(*d.t.eos)
		d.strip = d.t.strip
	}
}

func (d *draft) flush() {
	text := d.pending.String()
	d.pending.Reset()
	if d.strip {
		text = strings.TrimLeft(text, " \t\n\v\f\r")
	}
	d.strip = false
	if d.err == nil {
		d.tokens, d.err = d.t.appendText(d.tokens, text)
	}
}
