package icl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
)

// loaded is the default model, which all tests share.
var loaded = sync.OnceValues(func() (lm.Scorer, error) { return backend.Scorer(context.Background(), backend.Spec{}) })

func defaultModel(t testing.TB) lm.Scorer {
	t.Helper()
	m, err := loaded()
	if err != nil {
		t.Fatalf("%v\nrun: go run ./cmd/sotto model pull", err)
	}
	return m
}

// TestLongRealModel compares with the whole prompt as one text, from nothing, for a task
// some of whose labels are several tokens.
func TestLongRealModel(t *testing.T) {
	m := defaultModel(t)
	k, err := prompt.Builtin("dbpedia")
	if err != nil {
		t.Fatal(err)
	}
	k.Labels = []string{"Village", "Animal", "Athlete", "Politician", "Album"} // each is computed from nothing
	demos := []prompt.Example{{Input: "It is a village in the hills.", Output: "Village"}}
	c, err := NewClassifier(t.Context(), m, k, demos, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.labels.Depth() < 2 {
		t.Fatal("no label is several tokens: choose another task")
	}
	const input = "It is a species of beetle in the family Cerambycidae."
	got, err := c.Classify(t.Context(), []string{input})
	if err != nil {
		t.Fatal(err)
	}
	head := k.AnswerPrefix() + k.AnswerDemo(demos[0].Input, demos[0].Output) + k.AnswerItem(input)
	logs := make([]float64, len(k.Labels))
	for j, l := range k.Labels {
		logs[j] = continuation(t, m, head, " "+l)
	}
	for j, want := range lm.LogSoftmax(logs) {
		if have := math.Log(got[0].Scores[j]); math.Abs(have-want) > 1e-9 {
			t.Errorf("%s: log-probability %v, want %v", k.Labels[j], have, want)
		}
	}
	if got[0].Label != "Animal" {
		t.Errorf("a beetle is a %s", got[0].Label)
	}
}

// continuation returns the log-probability of what follows a text, a sequence for each of
// its tokens.
func continuation(t *testing.T, m lm.Scorer, head, tail string) float64 {
	t.Helper()
	tok := m.Tokenizer()
	before, err := tok.Encode(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := tok.Encode(t.Context(), head+tail)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	q, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	next := before
	for _, token := range whole[len(before):] {
		scores, err := s.Step(t.Context(), []lm.Step{{Sequence: q, Tokens: next, Ask: lm.Ask{All: true}}})
		if err != nil {
			t.Fatal(err)
		}
		sum += scores[0].LogProbs[token]
		next = []lm.Token{token}
	}
	return sum
}

// TestLongRealModelWrites compares with what the model writes after the whole prompt as one
// text, each from nothing: extraction, data to text, and dialogues of several lines.
func TestLongRealModelWrites(t *testing.T) {
	m := defaultModel(t)
	for _, c := range []struct {
		task   string
		demos  []prompt.Example
		inputs []string
	}{
		{"mit-g", []prompt.Example{{Input: "show me a scary film about ghosts", Output: "scary"}, {Input: "a funny comedy with a dog", Output: "comedy"}}, []string{
			"what is a good science fiction film", "any  western with a train", "", strings.Repeat("a drama about the sea ", 40),
		}},
		{"e2e", []prompt.Example{{Input: "name[The Oak], food[Thai]", Output: "The Oak serves Thai food."}}, []string{"name[The Mill], eatType[pub]", "name[Blue Door], area[riverside]"}},
		{"samsum", nil, []string{"Ana: are you home?\nBo: in ten minutes\nAna: good, bring milk"}},
	} {
		k, err := prompt.Builtin(c.task)
		if err != nil {
			t.Fatal(err)
		}
		k.Limits.AnswerTokens = min(k.Limits.AnswerTokens, 12)
		k.Limits.InputTokens = 60
		a, err := Open(t.Context(), m, k, c.demos, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := a.(*Writer); !ok {
			t.Fatalf("%T does not share what questions begin with", a)
		}
		got, err := a.Answer(t.Context(), c.inputs)
		if err != nil {
			t.Fatal(err)
		}
		a.Close()
		head := k.AnswerPrefix()
		for _, d := range c.demos {
			head += k.AnswerDemo(d.Input, d.Output)
		}
		for i, input := range c.inputs {
			if k.Kind != prompt.Generate {
				input = strings.Join(strings.Fields(input), " ")
			}
			if input, err = reply.Cut(t.Context(), m.Tokenizer(), input, 60); err != nil {
				t.Fatal(err)
			}
			texts, err := m.Generate(t.Context(), []lm.Prompt{{Text: head + k.AnswerItem(input)}}, lm.GenerateOptions{MaxTokens: k.Limits.AnswerTokens, Stop: k.Stop})
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimSpace(texts[0].Text); got[i] != want {
				t.Errorf("%s, question %d: %q, want %q", c.task, i, got[i], want)
			}
		}
		again, err := written(t.Context(), m, k, c.demos, c.inputs, Options{})
		if err != nil || !slices.Equal(again, got) {
			t.Errorf("%s: %q by itself, %q, %v", c.task, again, got, err)
		}
		t.Logf("%s: %q", c.task, got)
	}
}

// BenchmarkClassify: questions of about 55 tokens after four demonstrations of 50, and
// how that compares with the engine's speed on one long prompt.
func BenchmarkClassify(b *testing.B) {
	m := defaultModel(b)
	k, err := prompt.Builtin("agnews")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("The council said on Tuesday that talks would continue. ", 4)
	var demos []prompt.Example
	for _, l := range k.Labels {
		demos = append(demos, prompt.Example{Input: text, Output: l})
	}
	c, err := NewClassifier(b.Context(), m, k, demos, Options{Calibrate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	inputs := make([]string, 64)
	for i := range inputs {
		inputs[i] = fmt.Sprintf("Item %d. %s", i, text)
	}
	var classified, computed, prefilled float64
	for b.Loop() {
		before, start := m.Usage().Computed, time.Now()
		if _, err := c.Classify(b.Context(), inputs); err != nil {
			b.Fatal(err)
		}
		classified += time.Since(start).Seconds()
		computed += float64(m.Usage().Computed - before)
		prefilled += prefill(b, m, 512)
	}
	b.ReportMetric(float64(b.N*len(inputs))/classified, "items/s")
	b.ReportMetric(computed/classified, "tokens/s")
	b.ReportMetric(computed/classified/(512*float64(b.N)/prefilled), "of-prefill-speed")
}

// prefill returns the time that one long prompt takes.
func prefill(b *testing.B, m lm.Scorer, n int) float64 {
	s, err := m.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	q, err := s.New()
	if err != nil {
		b.Fatal(err)
	}
	tokens := make([]lm.Token, n)
	for i := range tokens {
		tokens[i] = lm.Token(20 + i*i*31%40000)
	}
	start := time.Now()
	if _, err := s.Step(b.Context(), []lm.Step{{Sequence: q, Tokens: tokens, Ask: lm.Ask{Top: 1}}}); err != nil {
		b.Fatal(err)
	}
	return time.Since(start).Seconds()
}
