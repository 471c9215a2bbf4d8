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

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

func task(labels ...string) prompt.Task {
	return prompt.Task{
		Name: "test", Kind: prompt.Classify, Text: "t", Label: "l", Labels: labels,
		Generate: prompt.Generation{Instruction: "Write."},
		Answer:   prompt.AnswerLayout{Instruction: "Choose.", Input: "Q", Output: "A"},
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
		m.info.Can.Top, m.info.Can.All = true, rapid.Bool().Draw(t, "all")
		if m.info.Can.All {
			m.info.Can.Top = rapid.Bool().Draw(t, "top")
		}
		labels := rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 2, 6, rapid.ID).Draw(t, "labels")
		o := Options{Calibrate: rapid.Bool().Draw(t, "calibrate"), Normalise: rapid.Bool().Draw(t, "normalise")}
		demos := []prompt.Example{{Input: "one", Output: labels[0]}, {Input: "two", Output: labels[1]}}[:rapid.IntRange(0, 2).Draw(t, "demos")]
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
			same(t, got[i].Raw, labels, want)
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
			same(t, got[i].Classification, labels, want)
		}
		if want := int64(m.tokens); c.Usage().Computed != want {
			t.Fatalf("%d tokens are counted, %d were computed", c.Usage().Computed, want)
		}
	})
}

// same compares a choice with probabilities. Labels whose probabilities are equal but
// for rounding may each be the best one.
func same(t *rapid.T, got Classification, labels []string, want []float64) {
	t.Helper()
	for j := range want {
		if math.Abs(got.Scores[j]-want[j]) > 1e-9 {
			t.Fatalf("label %q: %v, want %v", labels[j], got.Scores, want)
		}
	}
	if at := slices.Index(labels, got.Label); want[at] < slices.Max(want)-1e-9 || got.Scores[at] != slices.Max(got.Scores) {
		t.Fatalf("%q is not the best of %v", got.Label, want)
	}
}

// TestPasses: however many questions there are, passes are bounded, the prefix is
// computed once, and nothing stays open but the prefix.
func TestPasses(t *testing.T) {
	for _, sequences := range []int{0, 1, 7} {
		m := newToy(" yes", " no")
		m.info.Sequences = sequences
		c, err := NewClassifier(t.Context(), m, task("yes", "no", "perhaps"), []prompt.Example{{Input: "a", Output: "yes"}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		before, open := m.tokens, m.open
		if before != c.Tokens()+len(c.lead) {
			t.Errorf("%d tokens for a prefix of %d and %d", before, c.Tokens(), len(c.lead))
		}
		var inputs []string
		for i := range 200 {
			inputs = append(inputs, fmt.Sprint("question ", i))
		}
		all, err := c.Classify(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		limit := sequences
		if sequences == 0 {
			limit = 64
		}
		if m.longest > limit {
			t.Errorf("%d sequences in a pass, at most %d", m.longest, limit)
		}
		if m.open != open {
			t.Errorf("%d sequences are open, %d were", m.open, open)
		}
		if each := (m.tokens - before) / len(inputs); each > 40-len(c.lead) {
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

// TestWithoutWholeDistributions: labels of one token need no probability over the whole
// vocabulary; others do, and it comes from the best token if there is no other way.
func TestWithoutWholeDistributions(t *testing.T) {
	several := []string{"yes", "perhaps"}
	for _, c := range []struct {
		labels          []string
		candidates, top bool
		want            string
	}{
		{[]string{"yes", "no"}, true, false, ""},
		{several, true, true, ""},
		{several, true, false, "several tokens"},
		{[]string{"yes", "no"}, false, true, "chosen tokens"},
	} {
		m := newToy(" yes", " no")
		m.info.Can.All, m.info.Can.Candidates, m.info.Can.Top = false, c.candidates, c.top
		k, err := NewClassifier(t.Context(), m, task(c.labels...), nil, Options{Normalise: true})
		if c.want == "" {
			if err != nil {
				t.Errorf("%v: %v", c.labels, err)
				continue
			}
			if _, err := k.Classify(t.Context(), []string{"a"}); err != nil {
				t.Errorf("%v: %v", c.labels, err)
			}
			k.Close()
			continue
		}
		var unsupported *lm.UnsupportedError
		if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.labels, err, c.want)
		}
		if m.sessions != 0 {
			t.Errorf("%v: %d sessions are open", c.labels, m.sessions)
		}
	}
}

func TestQuestionsAreCut(t *testing.T) {
	m := newToy(" yes", " no")
	of := task("yes", "no")
	of.Limits.InputTokens = 5
	c, err := NewClassifier(t.Context(), m, of, nil, Options{})
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
		demos []prompt.Example
		o     Options
		want  string
	}{
		"open labels":    {task: open, want: "no list of labels"},
		"generation":     {task: prompt.Task{Name: "g", Kind: prompt.Generate}, want: "no list of labels"},
		"pass":           {task: task("a", "b"), o: Options{PassTokens: -1}, want: "positive"},
		"demonstrations": {task: task("a", "b"), demos: []prompt.Example{{Input: strings.Repeat("x", 5000), Output: "a"}}, want: "use fewer or shorter demonstrations"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewClassifier(t.Context(), m, c.task, c.demos, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	if m.open != 0 || m.sessions != 0 {
		t.Errorf("%d sequences and %d sessions are open", m.open, m.sessions)
	}
}
