package icl

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

func writeTask(kind prompt.Kind) prompt.Task {
	return prompt.Task{
		Name: "test", Kind: kind, Text: "t", Label: "l",
		Generate: prompt.Generation{Instruction: "Write."},
		Answer:   prompt.AnswerLayout{Instruction: "Answer.", Input: "Q", Output: "A"},
	}.WithDefaults()
}

// TestAnswersAreTheDefinition: an answer is what the model writes after the whole prompt
// alone, whatever else is asked, however many are written side by side.
func TestAnswersAreTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newToy(" a", "\n", "ab")
		m.begins = rapid.Bool().Draw(t, "begins")
		m.info.Sequences = rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "sequences")
		for i := range rapid.IntRange(0, 60).Draw(t, "ends") {
			m.ends = append(m.ends, lm.Token(i*4))
		}
		k := writeTask(rapid.SampledFrom([]prompt.Kind{prompt.Extract, prompt.Generate}).Draw(t, "kind"))
		k.Stop = rapid.SampledFrom([][]string{{"\n"}, {"a", "bb"}}).Draw(t, "stop")
		k.Limits.AnswerTokens = rapid.IntRange(1, 12).Draw(t, "tokens")
		o := Options{PassTokens: rapid.SampledFrom([]int{0, 1, 40, 100}).Draw(t, "pass")}
		demos := []prompt.Example{{Input: "one", Output: "x"}, {Input: "two  words", Output: "y"}}[:rapid.IntRange(0, 2).Draw(t, "demos")]
		inputs := rapid.SliceOfN(rapid.StringMatching("[a-z]{0,9}"), 0, 9).Draw(t, "inputs")
		w, err := NewWriter(t.Context(), m, k, demos, o)
		if err != nil {
			t.Fatal(err)
		}
		before, open := m.tokens, m.open
		got, err := w.Answer(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		expect.Equal(t, "m.open", m.open, open)
		expect.Equal(t, "w.Usage().Computed", w.Usage().Computed, int64(m.tokens))
		expect.Equal(t, "before", before, w.Tokens()+len(w.lead))
		if limit := m.info.Sequences; limit > 0 && m.longest > limit {
			t.Fatalf("%d sequences in a step", m.longest)
		}
		if err := w.Close(); err != nil || m.sessions != 0 {
			t.Fatalf("%v, %d sessions are open", err, m.sessions)
		}
		prefix := k.AnswerPrefix()
		for _, d := range demos {
			input := d.Input
			if k.Kind != prompt.Generate {
				input = strings.ReplaceAll(input, "  ", " ")
			}
			prefix += k.AnswerDemo(input, d.Output)
		}
		for i, x := range inputs {
			texts, err := lm.GenerateBySteps(t.Context(), m, []lm.Prompt{{Text: prefix + k.AnswerItem(x)}}, lm.GenerateOptions{MaxTokens: k.Limits.AnswerTokens, Stop: k.Stop})
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimSpace(texts[0].Text); got[i] != want {
				t.Fatalf("question %d: %q, want %q", i, got[i], want)
			}
		}
	})
}

// TestWriterPasses: the demonstrations are computed once, passes are bounded, and a
// question takes the place of one that has ended.
func TestWriterPasses(t *testing.T) {
	m := newToy()
	for i := range 128 { // half of all tokens end an answer, so that lengths differ
		m.ends = append(m.ends, lm.Token(i*2))
	}
	k := writeTask(prompt.Extract)
	w, err := NewWriter(t.Context(), m, k, []prompt.Example{{Input: "a", Output: "b"}}, Options{PassTokens: 256})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	inputs := make([]string, 200)
	for i := range inputs {
		inputs[i] = fmt.Sprint("question ", i)
	}
	answers, err := w.Answer(t.Context(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	if m.longest > 8 || m.widest > 256 {
		t.Errorf("%d sequences and %d tokens in a pass", m.longest, m.widest)
	}
	if limit := m.asks/m.longest + k.Limits.AnswerTokens; m.steps > limit {
		t.Errorf("%d steps, at most %d if no place is left empty before the last answers", m.steps, limit)
	}
	alone, err := w.Answer(t.Context(), inputs[150:151])
	if err != nil || alone[0] != answers[150] {
		t.Errorf("%q alone, %q among others, %v", alone, answers[150], err)
	}
}

func TestWriterRefused(t *testing.T) {
	k := writeTask(prompt.Generate)
	for name, c := range map[string]struct {
		change func(*toy)
		demos  []prompt.Example
		o      Options
		want   string
	}{
		"no best token":  {change: func(m *toy) { m.info.Can.Top = false }, want: "best token"},
		"demonstrations": {demos: []prompt.Example{{Input: strings.Repeat("x", 5000), Output: "a"}}, want: "use fewer or shorter demonstrations"},
		"answer":         {change: func(m *toy) { m.info.Context = 200 }, want: "longer context"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newToy()
			if c.change != nil {
				c.change(m)
			}
			if _, err := NewWriter(t.Context(), m, k, c.demos, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if m.sessions != 0 {
				t.Errorf("%d sessions are open", m.sessions)
			}
		})
	}
}
