package tokenizer_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/tokenizer"
	"github.com/sotto-dp/sotto/lm"
)

type renderedTemplate struct {
	Name, Template string
	Cases          []struct {
		Messages []lm.Message
		Text     *string // nil if the template refuses the conversation
	}
}

// TestChatsAsJinjaRenders holds Chat to what jinja2 renders of the templates of Gemma 3,
// Phi-3.5, Phi-4, Mistral, Qwen 2.5 and Qwen 3: the tokens, marks spelled out, are the same
// text. SOTTO_RENDERED names another file that rendered.py wrote.
func TestChatsAsJinjaRenders(t *testing.T) {
	all := fixture[[]renderedTemplate](t, "rendered.json.gz")
	if path := os.Getenv("SOTTO_RENDERED"); path != "" {
		all = fixture[[]renderedTemplate](t, path)
	}
	for _, template := range all {
		t.Run(template.Name, func(t *testing.T) {
			c := chatConfig(t, template.Template)
			tok := newTokenizer(t, c)
			if tok.Template() == "" {
				t.Fatal("the template is not recognised")
			}
			agreed := 0
			for _, chat := range template.Cases {
				ids, err := tok.Chat(chat.Messages)
				if err != nil {
					if chat.Text != nil && !mayRefuse(chat.Messages) {
						t.Errorf("%v: %v", chat.Messages, err)
					}
					continue
				}
				if chat.Text == nil {
					t.Errorf("%v: the template refuses what Chat lays out", chat.Messages)
				} else if got := spelledOut(t, tok, c, ids); got != *chat.Text {
					t.Errorf("%v gives %q, and Jinja %q", chat.Messages, got, *chat.Text)
				} else {
					agreed++
				}
			}
			if agreed < 15 {
				t.Errorf("only %d conversations could be compared", agreed)
			}
		})
	}
}

// chatConfig returns a vocabulary of bytes and the marks of all layouts.
func chatConfig(t *testing.T, template string) tokenizer.Config {
	t.Helper()
	c := fixture[chats](t, "chats.json.gz").Vocabularies[0].config()
	c.ChatTemplate = template
	for _, mark := range strings.Fields("<start_of_turn> <end_of_turn> <|im_start|> <|im_sep|> <|im_end|> <|user|> <|system|> <|assistant|> <|end|> [INST] [/INST] <|start_header_id|> <|end_header_id|> <|eot_id|>") {
		if !slices.Contains(c.Tokens, mark) {
			c.Tokens, c.Types = append(c.Tokens, mark), append(c.Types, tokenizer.Control)
		}
	}
	return c
}

// spelledOut returns the text of tokens with the spelling of their marks.
func spelledOut(t *testing.T, tok *tokenizer.Tokenizer, c tokenizer.Config, ids []lm.Token) string {
	t.Helper()
	var b strings.Builder
	for _, id := range ids {
		if tok.Control(id) {
			b.WriteString(c.Tokens[id])
		} else {
			b.WriteString(decode(t, tok, []lm.Token{id}))
		}
	}
	return b.String()
}
