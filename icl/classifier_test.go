package icl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sotto/lm"
	"sotto/prompt"
)

func task(labels ...string) prompt.Task {
	return prompt.Task{
		Name: "test", Kind: prompt.Classify, Text: "t", Label: "l", Labels: labels,
		Generate: prompt.Generation{Instruction: "Write."},
		Answer:   prompt.Answering{Instruction: "Choose.", Input: "Q", Output: "A"},
	}.WithDefaults()
}

// byHand scores a label as the definition says: the whole prompt from the beginning,
// and each token of the label over the whole vocabulary.
func byHand(m *toy, head, label string) (sum float64, tokens int) {
	seen, _ := m.Encode(context.Background(), head)
	list, _ := m.Encode(context.Background(), " "+label)
	for _, k := range list {
		sum += lm.LogSoftmax(m.logits(seen))[k]
		seen = append(seen, k)
	}
	return sum, len(list)
}

func probabilitiesByHand(m *toy, head string, labels []string, normalise bool) []float64 {
	logs := make([]float64, len(labels))
	for j, l := range labels {
		sum, n := byHand(m, head, l)
		if normalise {
			sum /= float64(n)
		}
		logs[j] = sum
	}
	var total float64
	for j := range logs {
		logs[j] = math.Exp(logs[j])
		total += logs[j]
	}
	for j := range logs {
		logs[j] /= total
	}
	return logs
}

// TestScoresAreTheDefinition: labels of one and of several tokens, that share
// beginnings or are one another's beginning, with all options.
func TestScoresAreTheDefinition(t *testing.T) {
	pool := []string{"World", "Sports", "Spo", "S", "Sporting", "World war", "x", "xy", "yx", "Spa"}
	rapid.Check(t, func(t *rapid.T) {
		m := newToy(" World", " Sports")
		m.begins = rapid.Bool().Draw(t, "begins")
		labels := rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 2, 6, rapid.ID).Draw(t, "labels")
		o := Options{Calibrate: rapid.Bool().Draw(t, "calibrate"), Normalise: rapid.Bool().Draw(t, "normalise")}
		demos := []Demo{{"one", labels[0]}, {"two", labels[1]}}[:rapid.IntRange(0, 2).Draw(t, "demos")]
		inputs := rapid.SliceOfN(rapid.StringMatching("[a-z]{1,9}"), 0, 5).Draw(t, "inputs")
		k := task(labels...)
		c, err := NewClassifier(t.Context(), m, k, demos, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		got, err := c.Classify(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		prefix := k.AnswerPrefix()
		if m.begins {
			prefix = "\x01" + prefix
		}
		for _, d := range demos {
			prefix += k.AnswerDemo(d.Input, d.Output)
		}
		weights := make([]float64, len(labels))
		for _, x := range []string{"N/A", "[MASK]", ""} {
			for j, p := range probabilitiesByHand(m, prefix+k.AnswerItem(x), labels, o.Normalise) {
				weights[j] += p / 3
			}
		}
		for i, x := range inputs {
			want := probabilitiesByHand(m, prefix+k.AnswerItem(x), labels, o.Normalise)
			if o.Calibrate {
				var total float64
				for j := range want {
					want[j] /= weights[j]
					total += want[j]
				}
				for j := range want {
					want[j] /= total
				}
			}
			for j := range want {
				if math.Abs(got[i].Scores[j]-want[j]) > 1e-9 {
					t.Fatalf("label %q: %v, want %v", labels[j], got[i].Scores, want)
				}
			}
			if best := slices.Index(want, slices.Max(want)); got[i].Label != labels[best] {
				t.Fatalf("%q, want %q of %v", got[i].Label, labels[best], want)
			}
		}
	})
}

// TestPasses: however many questions there are, passes are bounded, the prefix is
// computed once, and nothing stays open but the prefix.
func TestPasses(t *testing.T) {
	for _, most := range []int{0, 1, 7} {
		m := newToy(" yes", " no")
		m.info.Sequences = most
		c, err := NewClassifier(t.Context(), m, task("yes", "no", "perhaps"), []Demo{{"a", "yes"}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		before := m.tokens
		if before != c.Tokens() {
			t.Errorf("%d tokens for a prefix of %d", before, c.Tokens())
		}
		var inputs []string
		for i := range 200 {
			inputs = append(inputs, fmt.Sprint("question ", i))
		}
		all, err := c.Classify(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		limit := most
		if most == 0 {
			limit = passSequences
		}
		if m.longest > limit {
			t.Errorf("%d sequences in a pass, at most %d", m.longest, limit)
		}
		if m.open != 1 {
			t.Errorf("%d sequences are open", m.open)
		}
		if each := (m.tokens - before) / len(inputs); each > 40 {
			t.Errorf("%d tokens for each question", each)
		}
		for _, i := range []int{0, 99, 199} {
			alone, err := c.Classify(t.Context(), inputs[i:i+1])
			if err != nil || !slices.Equal(alone[0].Scores, all[i].Scores) {
				t.Errorf("question %d: %v alone, %v among others, %v", i, alone, all[i], err)
			}
		}
		if err := c.Close(); err != nil || m.open != 0 {
			t.Errorf("%v, %d sequences are open", err, m.open)
		}
	}
}

// TestFailures: a step that fails fails the call, leaves no sequence behind, and the
// classifier can be asked again.
func TestFailures(t *testing.T) {
	for at := 1; at <= 8; at++ {
		m := newToy(" yes")
		m.failAt = at
		c, err := NewClassifier(t.Context(), m, task("yes", "no", "perhaps"), nil, Options{Calibrate: true})
		if err != nil {
			if !errors.Is(err, errToy) || m.open != 0 {
				t.Errorf("step %d: %v, %d sequences are open", at, err, m.open)
			}
			continue
		}
		if _, err = c.Classify(t.Context(), []string{"a", "b"}); err != nil && !errors.Is(err, errToy) {
			t.Errorf("step %d: %v", at, err)
		}
		if m.open != 1 {
			t.Errorf("step %d: %d sequences are open", at, m.open)
		}
		if _, err = c.Classify(t.Context(), []string{"a", "b"}); err != nil && m.steps < at {
			t.Errorf("after step %d: %v", at, err)
		}
		c.Close()
	}
}

func TestWithoutWholeDistributions(t *testing.T) {
	m := newToy(" yes", " no")
	m.info.Can.All = false
	c, err := NewClassifier(t.Context(), m, task("yes", "no"), nil, Options{Normalise: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Classify(t.Context(), []string{"a"}); err != nil {
		t.Error(err)
	}
	var unsupported *lm.UnsupportedError
	if _, err := NewClassifier(t.Context(), m, task("yes", "perhaps"), nil, Options{}); !errors.As(err, &unsupported) {
		t.Errorf("labels of several tokens: %v", err)
	}
}

func TestQuestionsAreCut(t *testing.T) {
	m := newToy(" yes", " no")
	c, err := NewClassifier(t.Context(), m, task("yes", "no"), nil, Options{MaxInputTokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := c.Classify(t.Context(), []string{"abcde", "abcdefgh", "  abcde\t", "abcd" + "é", "abcd"})
	if err != nil {
		t.Fatal(err)
	}
	for i, same := range []int{0, 0, 0, 4, 4} { // a cut character is left out
		if !slices.Equal(p[i].Scores, p[same].Scores) {
			t.Errorf("question %d is not question %d", i, same)
		}
	}
	if slices.Equal(p[0].Scores, p[4].Scores) {
		t.Error("other questions have the same scores")
	}
}

func TestRefused(t *testing.T) {
	m := newToy()
	open := task()
	open.Kind = prompt.Extract
	for name, c := range map[string]struct {
		task  prompt.Task
		demos []Demo
		o     Options
		want  string
	}{
		"open labels":    {task: open, want: "no list of labels"},
		"generation":     {task: prompt.Task{Name: "g", Kind: prompt.Generate}, want: "no list of labels"},
		"limit":          {task: task("a", "b"), o: Options{MaxInputTokens: -1}, want: "positive"},
		"demonstrations": {task: task("a", "b"), demos: []Demo{{strings.Repeat("x", 5000), "a"}}, want: "fewer demonstrations"},
	} {
		if _, err := NewClassifier(t.Context(), m, c.task, c.demos, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m.open != 0 {
		t.Errorf("%d sequences are open", m.open)
	}
}

func TestAnswer(t *testing.T) {
	m := newToy()
	k, err := prompt.Builtin("mit-g")
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for i := range 100 {
		inputs = append(inputs, fmt.Sprintf("a  film %d", i))
	}
	k.Limits.AnswerTokens = 12
	answers, err := Answer(t.Context(), m, k, []Demo{{"a horror\nfilm", "horror"}}, inputs, Options{})
	if err != nil || len(answers) != len(inputs) || len(m.prompts) != len(inputs) {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	if answers[99] != "a word" {
		t.Errorf("%q", answers[99])
	}
	if got, want := m.prompts[99].Text, "\nSentence: a horror film\nGenre: horror\n\nSentence: a film 99\nGenre:"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
