package icl

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/labels"
	"github.com/sotto-dp/sotto/prompt"
)

// chatty returns a toy that chats.
func chatty(words ...string) *toy {
	m := newToy(words...)
	m.info.Can.Chat = true
	return m
}

// conversation is what a chat model should get: the turns of a release, then the question.
func conversation(k prompt.Task, demos []Demo, input string) []lm.Message {
	var out []lm.Message
	for _, t := range append(prompt.Prompt{Examples: demos}.Turns(k), k.Question(input)) {
		out = append(out, lm.Message{Role: lm.Role(t.Role), Content: t.Content})
	}
	return out
}

// TestTurns: labels have the scores that they have after the whole conversation, computed
// from nothing, also where a question joins tokens with what is before it.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := chatty("yes", "no", "Q: zebra")
		m.begins = rapid.Bool().Draw(t, "begins")
		k := task("yes", "no", "nobody")
		demos := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Demo {
			return Demo{Input: rapid.StringMatching("[a-z ]{0,9}").Draw(t, "text"), Output: rapid.SampledFrom(k.Labels).Draw(t, "label")}
		}), 0, 3).Draw(t, "demos")
		inputs := rapid.SliceOfN(rapid.OneOf(rapid.StringMatching("[a-z\n ]{0,9}"), rapid.Just("zebra crossing")), 1, 5).Draw(t, "inputs")
		c, err := NewClassifier(t.Context(), m, k, demos, Options{Chat: true, PassTokens: rapid.SampledFrom([]int{0, 40}).Draw(t, "pass")})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		got, err := c.Classify(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		list, err := labels.NewTurn(t.Context(), m, k.Labels)
		if err != nil {
			t.Fatal(err)
		}
		session, err := m.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		for i, input := range inputs {
			whole, err := m.Chat(t.Context(), conversation(k.WithDefaults(), demos, input))
			if err != nil {
				t.Fatal(err)
			}
			from, err := session.New()
			if err != nil {
				t.Fatal(err)
			}
			want, err := list.Scores(t.Context(), session, []labels.Prompt{{From: from, Tokens: whole}}, labels.Options{Can: m.info.Can})
			if err != nil {
				t.Fatal(err)
			}
			for j, log := range lm.LogSoftmax(want[0]) {
				if have := math.Log(got[i].Scores[j]); math.Abs(have-log) > 1e-9 {
					t.Fatalf("%q, %s: log-probability %v, want %v", input, k.Labels[j], have, log)
				}
			}
		}
	})
}

// TestTurnsAreShared: what conversations begin with is computed once.
func TestTurnsAreShared(t *testing.T) {
	m := chatty()
	k := task("yes", "no")
	demos := []Demo{{Input: strings.Repeat("a long text ", 20), Output: "yes"}}
	c, err := NewClassifier(t.Context(), m, k, demos, Options{Chat: true, Calibrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	prefix, before := c.Tokens(), m.tokens
	if prefix < 240 {
		t.Fatalf("%d tokens are shared", prefix)
	}
	if _, err := c.Classify(t.Context(), []string{"one", "two", "three"}); err != nil {
		t.Fatal(err)
	}
	if asked := m.tokens - before; asked > 3*40 {
		t.Errorf("%d tokens for three short questions", asked)
	}
}

// TestTurnsAreWritten: answers are written after the same conversation, whether beginnings
// are shared, the model generates by itself, or it has nothing but text.
func TestTurnsAreWritten(t *testing.T) {
	k := writeTask(prompt.Generate)
	demos := []Demo{{Input: "x\ny", Output: "z"}}
	shared, alone, bare := chatty(" a"), chatty(" a"), chatty(" a")
	alone.info.Can.SharedPrefix = false
	var answers []string
	for _, m := range []lm.Model{shared, alone, plain{bare}} {
		a, err := Open(t.Context(), m, k, demos, Options{Chat: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Answer(t.Context(), []string{"one", "two"})
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, strings.Join(got, "|"))
		a.Close()
	}
	if answers[0] == "|" || answers[0] != answers[1] || answers[0] != answers[2] {
		t.Errorf("%q", answers)
	}
	for _, m := range []*toy{alone, bare} {
		if len(m.prompts) != 2 || !slices.Equal(m.prompts[1].Messages, conversation(k.WithDefaults(), demos, "two")) {
			t.Errorf("%+v", m.prompts)
		}
	}
}

// TestTurnsAreCut: a question is cut to the task's limit, in turns as in a text.
func TestTurnsAreCut(t *testing.T) {
	m := chatty()
	k := task("yes", "no")
	k.Limits.InputTokens = 10
	c, err := NewClassifier(t.Context(), m, k, nil, Options{Chat: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Classify(t.Context(), []string{"0123456789 and more", "0123456789"})
	if err != nil || !slices.Equal(got[0].Scores, got[1].Scores) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNoTurns: a model that does not chat, and questions that cannot be laid out so, are
// refused.
func TestNoTurns(t *testing.T) {
	for name, m := range map[string]lm.Model{"scores": newToy(), "text": plain{newToy()}} {
		_, err := Open(t.Context(), m, task("yes", "no"), nil, Options{Chat: true})
		var unsupported *lm.UnsupportedError
		if !errors.As(err, &unsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := NewClassifier(t.Context(), chatty(), task("yes", "no"), nil, Options{Chat: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ClassifyEach(t.Context(), []Query{{Input: "a"}}); err == nil {
		t.Error("questions with their own demonstrations are answered")
	}
}
