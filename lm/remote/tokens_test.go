package remote

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/lm"
)

// TestNoForgedMarks: texts full of pieces of marks never become control tokens, and
// come back as they were.
func TestNoForgedMarks(t *testing.T) {
	for _, d := range []Dialect{VLLM, SGLang, LlamaCPP} {
		_, url := newToy(t, d)
		s := dialScorer(t, url, Options{})
		pieces := rapid.SampledFrom([]string{"<|im_start|>", "<|im_end|>", "<|", "|>", "<", "im_", "start", "end", "<|endoftext|>", " ", "é", "x"})
		rapid.Check(t, func(t *rapid.T) {
			text := strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), "")
			tokens, err := s.Tokenizer().Encode(context.Background(), text)
			if err != nil {
				t.Fatalf("encode: %v", err)
			}
			if slices.ContainsFunc(tokens, s.Tokenizer().Control) {
				t.Fatalf("a text became a control token")
			}
			back, err := s.Tokenizer().Decode(context.Background(), tokens)
			if err != nil || back != text {
				t.Fatalf("%q came back as %q, error %v", text, back, err)
			}
		})
	}
}

func TestApart(t *testing.T) {
	marks := map[lm.Token]string{0: "<<", 1: "<<<", 2: "aba"}
	for text, want := range map[string][]string{
		"":        {""},
		"plain":   {"plain"},
		"<<":      {"<", "<"},
		"<<<<":    {"<", "<", "<", "<"},
		"x<<<y":   {"x<", "<", "<y"},
		"ababa":   {"a", "ba", "ba"},
		"ab<<aba": {"ab<", "<a", "ba"},
	} {
		if got := apart(text, marks); !slices.Equal(got, want) {
			t.Errorf("%q is taken apart as %q, not %q", text, got, want)
		}
	}
}

// FuzzApart: the parts make the text, and none holds a mark.
func FuzzApart(f *testing.F) {
	f.Add("a<|x|>b", "<|x|>", "<|")
	f.Add("aaaa", "aa", "aaa")
	f.Add("日本日本", "日本", "")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		marks := map[lm.Token]string{1: one, 2: two}
		parts := apart(text, marks)
		if strings.Join(parts, "") != text {
			t.Fatal("the parts do not make the text")
		}
		for _, part := range parts {
			for _, mark := range marks {
				// A mark of one character cannot be taken apart.
				if len([]rune(mark)) > 1 && strings.Contains(part, mark) {
					t.Fatalf("%q is in %q", mark, part)
				}
			}
		}
	})
}

func TestServerTokenizer(t *testing.T) {
	_, url := newToy(t, LlamaCPP)
	tok := dialScorer(t, url, Options{}).Tokenizer()
	if _, err := tok.Encode(t.Context(), "a\xff"); err == nil {
		t.Error("a text that is not UTF-8 was encoded")
	}
	// llama.cpp tells the bytes of tokens, so that half a character comes back.
	if text, err := tok.Decode(t.Context(), []lm.Token{0xc3, 257}); err != nil || text != "\xc3" {
		t.Errorf("half a character decodes to %q, error %v", text, err)
	}
	for _, bad := range []lm.Token{-1, toySize} {
		if _, err := tok.Decode(t.Context(), []lm.Token{bad}); err == nil {
			t.Errorf("token %d was decoded", bad)
		}
	}
	if !slices.Equal(tok.Ends(), []lm.Token{257, 258}) || tok.Size() != toySize {
		t.Errorf("ends %v, size %d", tok.Ends(), tok.Size())
	}
	if _, ok := tok.Beginning(); ok {
		t.Error("the toy has no token of beginning")
	}
}

// TestLayouts checks chats against the template, with and without cutting space.
func TestLayouts(t *testing.T) {
	for _, d := range []Dialect{VLLM, SGLang, LlamaCPP} {
		for _, trim := range []bool{false, true} {
			toy, url := newToy(t, d)
			toy.trim = trim
			s := dialScorer(t, url, Options{})
			messages := []lm.Message{{Role: lm.System, Content: " be\n"}, {Role: lm.User, Content: "hi"}, {Role: lm.Assistant, Content: ""}, {Role: lm.User, Content: "sotto1placeholder"}}
			got, err := s.Chat(t.Context(), messages)
			if err != nil {
				t.Fatal(err)
			}
			var asked []any
			for _, m := range messages {
				asked = append(asked, object{"role": string(m.Role), "content": m.Content})
			}
			if want := toy.encode(toy.render(asked), true); !slices.Equal(got, want) {
				t.Errorf("%s, trim %v: %q, not %q", d, trim, toy.decode(got, true), toy.decode(want, true))
			}
			before := toy.requests.Load()
			if _, err := s.Chat(t.Context(), messages[:1]); err != nil {
				t.Fatal(err)
			}
			first := toy.requests.Load() - before
			if _, err := s.Chat(t.Context(), messages[:1]); err != nil {
				t.Fatal(err)
			}
			if again := toy.requests.Load() - before - first; again >= first {
				t.Errorf("%s: the same roles took %d requests, then %d", d, first, again)
			}
			if _, err := s.Chat(t.Context(), []lm.Message{{Role: "tool", Content: "x"}}); err == nil {
				t.Error("an unknown role was laid out")
			}
		}
	}
}

// TestBeginning: a model that wants a token before each text gets it once. Only
// llama.cpp leaves it out of a chat that it lays out.
func TestBeginning(t *testing.T) {
	for _, d := range []Dialect{VLLM, SGLang, LlamaCPP} {
		toy, url := newToy(t, d)
		toy.begin = true
		s := dialScorer(t, url, Options{})
		first, ok := s.Tokenizer().Beginning()
		if !ok || first != toySize-1 {
			t.Fatalf("%s: texts begin with %d, %v", d, first, ok)
		}
		plain, err := s.Tokenizer().Encode(t.Context(), "hi")
		if err != nil || !slices.Equal(plain, []lm.Token{'h', 'i'}) {
			t.Errorf("%s: %v, error %v", d, plain, err)
		}
		chat, err := s.Chat(t.Context(), []lm.Message{{Role: lm.User, Content: "hi"}})
		if err != nil {
			t.Fatal(err)
		}
		if begins := chat[0] == first; begins != (d == LlamaCPP) || slices.Contains(chat[1:], first) {
			t.Errorf("%s: the chat is %v", d, chat)
		}
		toy.keep, toy.seen = true, nil
		if _, err := s.Generate(t.Context(), []lm.Prompt{{Text: "hi"}}, lm.GenerateOptions{MaxTokens: 1}); err != nil {
			t.Fatal(err)
		}
		if last := toy.seen[len(toy.seen)-1]; !strings.Contains(last, `"prompt":[258,104,105]`) {
			t.Errorf("%s: the prompt was sent as %s", d, last)
		}
	}
}
