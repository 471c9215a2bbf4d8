package tokenizer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/engine/tokenizer"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

type chats struct {
	Vocabularies []smallVocabulary
	Templates    []chatTemplate
}

type chatTemplate struct {
	Name, Template string
	Cases          []struct {
		Messages []lm.Message
		IDs      [][]lm.Token // by vocabulary; null where the template refuses
	}
}

// TestChatsAsInJinja compares with what jinja2 renders and llama.cpp encodes. Where the
// template refuses a conversation, so must Chat; it may refuse more, but only where the
// last message is not the user's, turns are not taken or there is a system message.
func TestChatsAsInJinja(t *testing.T) {
	all := fixture[chats](t, "chats.json.gz")
	for i, v := range all.Vocabularies {
		for _, template := range all.Templates {
			t.Run(fmt.Sprint(i, " ", template.Name), func(t *testing.T) {
				c := v.config()
				c.ChatTemplate = template.Template
				tok := newTokenizer(t, c)
				if layout, _, _ := strings.Cut(template.Name, ","); tok.Template() != layout {
					t.Fatalf("the template is taken for %q", tok.Template())
				}
				agreed := 0
				for _, chat := range template.Cases {
					got, err := tok.Chat(chat.Messages)
					var unsupported *lm.UnsupportedError
					switch {
					case err != nil && !errors.As(err, &unsupported):
						t.Errorf("%v: %v", chat.Messages, err)
					case err != nil:
						if chat.IDs != nil && !mayRefuse(chat.Messages) {
							t.Errorf("%v: %v", chat.Messages, err)
						}
					case chat.IDs == nil:
						t.Errorf("%v: the template refuses what Chat lays out", chat.Messages)
					case !slices.Equal(got, chat.IDs[i]):
						t.Errorf("%v gives %v, and should %v", chat.Messages, got, chat.IDs[i])
					default:
						agreed++
					}
				}
				if agreed < 4 {
					t.Errorf("only %d conversations could be compared", agreed)
				}
			})
		}
	}
}

func mayRefuse(messages []lm.Message) bool {
	for i, m := range messages {
		if m.Role == lm.System || (m.Role == lm.User) != (i%2 == 0) {
			return true
		}
	}
	return messages[len(messages)-1].Role != lm.User
}

func TestDefaultModelChat(t *testing.T) {
	tok := defaultModel(t, "smollm")
	ids, err := tok.Chat([]lm.Message{{Role: lm.User, Content: "Hello"}})
	if err != nil {
		t.Fatal(err)
	}
	const start, end = 1, 2
	var want []lm.Token
	for _, part := range []struct {
		mark lm.Token
		text string
	}{
		{start, "system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"},
		{end, "\n"},
		{start, "user\nHello"},
		{end, "\n"},
		{start, "assistant\n"},
	} {
		want = append(append(want, part.mark), encode(t, tok, part.text)...)
	}
	if !slices.Equal(ids, want) {
		t.Errorf("the chat is %v and should be %v", ids, want)
	}
}

// TestNoMessageForgesATurn: contents add no marks, whatever they spell.
func TestNoMessageForgesATurn(t *testing.T) {
	tok := defaultModel(t, "smollm")
	marks := func(ids []lm.Token) (n int) {
		for _, id := range ids {
			if tok.Control(id) {
				n++
			}
		}
		return n
	}
	plain, err := tok.Chat([]lm.Message{{Role: lm.User, Content: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		content := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
			"<|im_start|>", "<|im_end|>", "<|endoftext|>", "assistant\n", "\n", "user", "<|", "|>", "im_end", " ", "<repo_name>",
		})).Draw(r, "content"), "")
		ids, err := tok.Chat([]lm.Message{{Role: lm.User, Content: content}})
		if err != nil {
			r.Fatal(err)
		}
		if got := marks(ids); got != marks(plain) {
			r.Errorf("%q: %d marks, not %d", content, got, marks(plain))
		}
		if text := decode(t, tok, ids); !strings.Contains(text, content) {
			r.Errorf("%q is not in the text of the chat", content)
		}
	})
}

func TestChatRefuses(t *testing.T) {
	v := fixture[chats](t, "chats.json.gz").Vocabularies[0]
	user := lm.Message{Role: lm.User, Content: "secret"}
	const chatML = `{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`
	for _, c := range []struct {
		name, template string
		messages       []lm.Message
		says           string
		unsupported    bool
	}{
		{"no template", "", []lm.Message{user}, "no chat template", true},
		{"unknown template", "{{ messages }}", []lm.Message{user}, "not one of those known", true},
		{"almost known", strings.Replace(chatML, "assistant\\n", "assistant\\n<think>\\n", 1), []lm.Message{user}, "not one of those known", true},
		{"damaged", "{% for message", []lm.Message{user}, "not one of those known", true},
		{"no messages", chatML, nil, "at least one message", false},
		{"unknown role", chatML, []lm.Message{{Role: "tool", Content: "secret"}}, "unknown role", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := v.config()
			config.ChatTemplate = c.template
			_, err := newTokenizer(t, config).Chat(c.messages)
			var unsupported *lm.UnsupportedError
			expect.Contains(t, "error", fmt.Sprint(err), c.says)
			expect.Equal(t, "unsupported", errors.As(err, &unsupported), c.unsupported)
			expect.True(t, "no content in the error", !strings.Contains(fmt.Sprint(err), "secret"), err)
		})
	}
}

// TestMarksOfTheLayout: a file may give the type of text to what its template uses as
// marks. Text must not lead to them all the same.
func TestMarksOfTheLayout(t *testing.T) {
	all := fixture[chats](t, "chats.json.gz")
	for _, kind := range []tokenizer.Type{tokenizer.UserDefined, tokenizer.Normal} {
		c := all.Vocabularies[0].config()
		c.ChatTemplate = all.Templates[0].Template
		c.Types = slices.Clone(c.Types)
		start := lm.Token(slices.Index(c.Tokens, "<|im_start|>"))
		end := lm.Token(slices.Index(c.Tokens, "<|im_end|>"))
		c.Types[start], c.Types[end] = kind, kind
		tok := newTokenizer(t, c)
		ids, err := tok.Chat([]lm.Message{{Role: lm.User, Content: "<|im_end|>"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(slices.DeleteFunc(ids, func(id lm.Token) bool { return id != start && id != end })); got != 3 {
			t.Errorf("type %d: %d marks in a chat of one message", kind, got)
		}
		if !tok.Control(start) || !slices.Contains(tok.Ends(), end) {
			t.Errorf("type %d: the marks are not recognised", kind)
		}
	}
}

// TestStripAfterMarks is Phi-3's way: its marks take the white space after them.
func TestStripAfterMarks(t *testing.T) {
	all := fixture[chats](t, "chats.json.gz")
	at := slices.IndexFunc(all.Templates, func(t chatTemplate) bool { return t.Name == "phi3" })
	c := all.Vocabularies[0].config()
	c.ChatTemplate = all.Templates[at].Template
	c.StripAfterMarks = true
	tok := newTokenizer(t, c)
	ids, err := tok.Chat([]lm.Message{{Role: lm.User, Content: " Hi "}})
	if err != nil {
		t.Fatal(err)
	}
	if got := decode(t, tok, ids); got != "Hi " {
		t.Errorf("the text of the chat is %q", got)
	}
}
