package reply

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// scriptModel is a model that writes given texts: a question is the number of its text. Tokens are
// bytes, and end is one that ends a text.
type scriptModel struct {
	texts     [][]lm.Token
	sequences map[lm.Sequence][]lm.Token
	last      lm.Sequence
	steps     int // of sequences
	fail      error
}

const end lm.Token = 256

func (*scriptModel) Encode(_ context.Context, text string) ([]lm.Token, error) {
	var out []lm.Token
	for _, b := range []byte(text) {
		out = append(out, lm.Token(b))
	}
	return out, nil
}

func (*scriptModel) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var out []byte
	for _, t := range tokens {
		if t < end {
			out = append(out, byte(t))
		}
	}
	return string(out), nil
}

func (*scriptModel) Size() int                    { return 257 }
func (*scriptModel) Beginning() (lm.Token, bool)  { return 0, false }
func (*scriptModel) Control(t lm.Token) bool      { return t == end }
func (*scriptModel) Ends() []lm.Token             { return []lm.Token{end} }
func (*scriptModel) Len(lm.Sequence) (int, error) { return 0, nil }
func (*scriptModel) Usage() lm.Usage              { return lm.Usage{} }
func (*scriptModel) Close() error                 { return nil }
func (m *scriptModel) New() (lm.Sequence, error)  { return m.Fork(0) }
func (m *scriptModel) Drop(q lm.Sequence) error   { delete(m.sequences, q); return m.fail }

func (m *scriptModel) Fork(from lm.Sequence) (lm.Sequence, error) {
	if m.sequences == nil {
		m.sequences = map[lm.Sequence][]lm.Token{}
	}
	m.last++
	m.sequences[m.last] = slices.Clone(m.sequences[from])
	return m.last, nil
}

func (m *scriptModel) Step(_ context.Context, steps []lm.Step) ([]lm.Scores, error) {
	out := make([]lm.Scores, len(steps))
	for i, s := range steps {
		m.steps++
		tokens := append(m.sequences[s.Sequence], s.Tokens...)
		m.sequences[s.Sequence] = tokens
		text := m.texts[tokens[0]]
		next := end
		if n := len(tokens) - 1; n < len(text) {
			next = text[n]
		}
		out[i] = lm.Scores{Tokens: []lm.Token{next}}
	}
	return out, m.fail
}

// write has a writer write all texts.
func write(t interface{ Fatal(...any) }, w *Writer, want string, n int) []string {
	var active []*Line
	for i := range n {
		l := &Line{ID: i, Want: want}
		if err := w.Begin(l, 0, []lm.Token{lm.Token(i)}); err != nil {
			t.Fatal(err)
		}
		active = append(active, l)
	}
	out := make([]string, n)
	for len(active) > 0 {
		var err error
		if active, err = w.Step(context.Background(), active, func(l *Line) { out[l.ID] = w.Answer(l) }); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestWriterEndsEarly: ending as soon as an answer is settled, or cannot become the one that is
// wanted, gives the grade that writing everything to the limit gives.
func TestWriterEndsEarly(t *testing.T) {
	saved := 0
	rapid.Check(t, func(t *rapid.T) {
		k, m := anyTask(t), &scriptModel{}
		turn := rapid.Bool().Draw(t, "turn") || Listed(k)
		if !turn { // there, the first end that is complete is the end
			k.Stop = rapid.SampledFrom([][]string{{"\n"}, {"###", "\n"}, {"\n\n"}}).Draw(t, "stop of a line")
		}
		limit := rapid.IntRange(1, 30).Draw(t, "limit of tokens")
		want := draw(t, "want")
		var whole []string
		tokens := 0
		for range 4 {
			text := draw(t, "text")
			if rapid.Bool().Draw(t, "that is wanted") {
				text = " " + want + text
			}
			script, _ := m.Encode(t.Context(), text)
			m.texts = append(m.texts, script)
			text = text[:min(len(text), limit)]
			tokens += min(len(text)+1, limit)
			if turn {
				whole = append(whole, Read(k, text))
			} else {
				text, _ = k.Cut(text)
				whole = append(whole, text)
			}
		}
		w := &Writer{Session: m, Tokenizer: m, Task: k, Turn: turn, Limit: limit}
		got := write(t, w, "", 4)
		if !slices.Equal(got, whole) {
			t.Fatalf("%q, and all that is written is %q", got, whole)
		}
		for i, text := range write(t, w, want, 4) {
			if Listed(k) && text != whole[i] || Same(want, text) != Same(want, whole[i]) {
				t.Fatalf("%q is wanted, and %q is written for %q", want, text, whole[i])
			}
		}
		saved += 2*tokens - m.steps
		if len(m.sequences) > 0 {
			t.Fatalf("%d sequences are left", len(m.sequences))
		}
	})
	if saved <= 0 {
		t.Errorf("%d tokens were not written", saved)
	}
}

// TestWriterSaves: a label takes as many tokens as it has, and one more.
func TestWriterSaves(t *testing.T) {
	k := listed("Art", "Artist", "Art deco", "World")
	for _, c := range []struct {
		text  string
		want  string
		steps int
	}{
		{"World, and so on and so on", "World", 6},
		{"Answer: Art is what it is", "Art", 13}, // "Art i" is not "Art deco"
		{"Art deco. And so on", "Art deco", 9},
		{"It is World", "", 1},
		{"World", "World", 6}, // the last is the end
		{"", "", 1},
	} {
		m := &scriptModel{}
		script, _ := m.Encode(t.Context(), c.text)
		m.texts = [][]lm.Token{script}
		w := &Writer{Session: m, Tokenizer: m, Task: k, Turn: true, Limit: 100}
		if got := write(t, w, "", 1)[0]; got != c.want || m.steps != c.steps {
			t.Errorf("%q: %q after %d steps, want %q after %d", c.text, got, m.steps, c.want, c.steps)
		}
	}
	k = written(prompt.Extract)
	m := &scriptModel{}
	m.texts = make([][]lm.Token, 2)
	m.texts[0], _ = m.Encode(t.Context(), " the end of the line")
	m.texts[1], _ = m.Encode(t.Context(), " war\nand more")
	w := &Writer{Session: m, Tokenizer: m, Task: k, Limit: 100}
	if got := write(t, w, "WAR", 2); got[1] != "war" || m.steps != 2+5 {
		t.Errorf("%q after %d steps", got, m.steps)
	}
}

// TestWriterFails: a model's error is handed on, and no line is lost that has to be dropped.
func TestWriterFails(t *testing.T) {
	m := &scriptModel{texts: [][]lm.Token{{'a'}, {'b'}}}
	w := &Writer{Session: m, Tokenizer: m, Task: written(prompt.Extract)}
	var active []*Line
	for i := range 2 {
		l := &Line{ID: i}
		if err := w.Begin(l, 0, []lm.Token{lm.Token(i)}); err != nil {
			t.Fatal(err)
		}
		active = append(active, l)
	}
	m.fail = errors.New("no")
	left, err := w.Step(t.Context(), active, func(*Line) { t.Error("a line is done") })
	if !errors.Is(err, m.fail) || len(left) != 2 {
		t.Errorf("%d lines, %v", len(left), err)
	}
	if err := w.Drop(left); !errors.Is(err, m.fail) || len(m.sequences) != 0 {
		t.Errorf("%d are left, %v", len(m.sequences), err)
	}
}

// chatter lays turns out in bytes. Joins says that the instruction is put into the first turn of the
// user, as Gemma's template does.
type chatter struct {
	*scriptModel
	joins bool
}

func (c chatter) Chat(ctx context.Context, messages []lm.Message) ([]lm.Token, error) {
	var b strings.Builder
	system := ""
	for _, m := range messages {
		if c.joins && m.Role == lm.System {
			system = m.Content + "\n\n"
			continue
		}
		b.WriteString("<" + string(m.Role) + ">" + system + m.Content + "</>")
		system = ""
	}
	return c.Encode(ctx, b.String()+"<assistant>")
}

// TestConversation: what conversations have in common is what each begins with, and it is all
// that does not depend on the question.
func TestConversation(t *testing.T) {
	k := listed("yes", "no")
	examples := []prompt.Example{{Input: "The moon", Output: "yes"}}
	for _, joins := range []bool{false, true} {
		for _, c := range []struct {
			name   string
			prompt prompt.Prompt
			common string
		}{
			{"chat", prompt.Prompt{Form: prompt.ChatForm, Examples: examples}, "<system>Choose.</><user>Question: The moon\nAnswer:</><assistant>yes</><user>Question: "},
			{"no examples", prompt.Prompt{Form: prompt.ChatForm}, "<system>Choose.</><user>Question: "},
			{"message", prompt.Prompt{Form: prompt.MessageForm, Examples: examples}, "<user>Choose.\n\nQuestion: The moon\nAnswer: yes\n\nQuestion: "},
			{"instruction", prompt.Prompt{Form: prompt.MessageForm, Instruction: "Say."}, "<user>Say.\n\nQuestion: "},
		} {
			want := c.common
			if joins {
				want = strings.Replace(want, "<system>Choose.</><user>", "<user>Choose.\n\n", 1)
			}
			m := chatter{&scriptModel{}, joins}
			talk := NewConversation(k, c.prompt, m)
			tokens, layout, err := talk.Common(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			common, _ := m.Decode(t.Context(), tokens)
			if common != want {
				t.Errorf("%s: %q, want %q", c.name, common, want)
			}
			for _, input := range []string{"7", "The first", "Is it so?\nOr not?", "é"} {
				all, err := talk.Tokens(t.Context(), m, input)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(all[:len(tokens)], tokens) {
					t.Errorf("%s: %q does not begin with what is common", c.name, input)
				}
				if len(all) > len(tokens)+layout+len(input)+1 {
					t.Errorf("%s: %q has %d tokens, beside %d and %d of the layout", c.name, input, len(all), len(tokens), layout)
				}
			}
		}
	}
}

// TestQuestionsAreCut: a question is cut to the task's limit, within no character, and not at all
// where there is no tokenizer.
func TestQuestionsAreCut(t *testing.T) {
	k := listed("yes", "no")
	k.Limits.InputTokens = 10
	asked := func(f prompt.Form, tok lm.Tokenizer, input string) string {
		turns, err := NewConversation(k, prompt.Prompt{Form: f}, tok).Asked(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		return turns[len(turns)-1].Content
	}
	for _, f := range []prompt.Form{prompt.ChatForm, prompt.MessageForm} {
		if long, short := asked(f, &scriptModel{}, "0123456789 and more"), asked(f, &scriptModel{}, "0123456789"); long != short {
			t.Errorf("%s: %q and %q", f, long, short)
		}
		if long, short := asked(f, &scriptModel{}, "012345678é"), asked(f, &scriptModel{}, "012345678"); long != short {
			t.Errorf("%s: %q and %q", f, long, short)
		}
		if whole := asked(f, nil, "0123456789 and more"); !strings.Contains(whole, "and more") {
			t.Errorf("%s: %q", f, whole)
		}
	}
	for _, c := range []struct{ input, want string }{
		{"  a \n b ", "\nQuestion: a b\nAnswer:"},
		{"0123456789 and more", "\nQuestion: 0123456789\nAnswer:"},
		{strings.Repeat("x", 1000), "\nQuestion: xxxxxxxxxx\nAnswer:"},
	} {
		tokens, err := Item(t.Context(), &scriptModel{}, k, c.input)
		if text, _ := (&scriptModel{}).Decode(t.Context(), tokens); err != nil || text != c.want {
			t.Errorf("%q: %q, want %q, %v", c.input, text, c.want, err)
		}
	}
}
