package icl

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// chatty returns a toy that chats.
func chatty(words ...string) *toy {
	m := newToy(words...)
	m.info.Can.Chat = true
	return m
}

// conversation is what a chat model should get: the turns of a release, then the question.
func conversation(k prompt.Task, p prompt.Prompt, input string) []lm.Message {
	var out []lm.Message
	for _, t := range append(p.Turns(k), p.Question(k, input)) {
		out = append(out, lm.Message{Role: lm.Role(t.Role), Content: t.Content})
	}
	return out
}

// TestTurns: answers are what the model writes after the whole conversation, computed from nothing, also
// where a question joins tokens with what is before it; labels are what that begins with.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := chatty("yes", "no", "Q: zebra")
		m.begins = rapid.Bool().Draw(t, "begins")
		k := task("yes", "no", "nobody")
		form := rapid.SampledFrom([]prompt.Form{prompt.ChatForm, prompt.MessageForm}).Draw(t, "form")
		demos := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) prompt.Example {
			return prompt.Example{Input: rapid.StringMatching("[a-z ]{0,9}").Draw(t, "text"), Output: rapid.SampledFrom(k.Labels).Draw(t, "label")}
		}), 0, 3).Draw(t, "demos")
		inputs := rapid.SliceOfN(rapid.OneOf(rapid.StringMatching("[a-z\n ]{0,9}"), rapid.Just("zebra crossing")), 1, 5).Draw(t, "inputs")
		a, err := Open(t.Context(), m, k, demos, Options{Form: form, PassTokens: rapid.SampledFrom([]int{0, 40}).Draw(t, "pass")})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		got, err := a.Answer(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		k = k.WithDefaults()
		limit, err := reply.Limit(t.Context(), m, k)
		if err != nil {
			t.Fatal(err)
		}
		for i, input := range inputs {
			whole, err := m.Chat(t.Context(), conversation(k, prompt.Prompt{Examples: demos, Form: form}, input))
			if err != nil {
				t.Fatal(err)
			}
			texts, err := lm.GenerateBySteps(t.Context(), m, []lm.Prompt{{Tokens: whole}}, lm.GenerateOptions{MaxTokens: limit})
			if err != nil {
				t.Fatal(err)
			}
			if want := reply.Read(k, texts[0].Text); got[i] != want {
				t.Fatalf("%q after %q: %q, want %q of %q", input, form, got[i], want, texts[0].Text)
			}
		}
	})
}

// TestTurnsAreShared: what conversations begin with is computed once.
func TestTurnsAreShared(t *testing.T) {
	m := chatty()
	k := task("yes", "no")
	demos := []prompt.Example{{Input: strings.Repeat("a long text ", 20), Output: "yes"}}
	c, err := NewWriter(t.Context(), m, k, demos, Options{Form: prompt.ChatForm})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	prefix, before := c.Tokens(), m.tokens
	if prefix < 240 {
		t.Fatalf("%d tokens are shared", prefix)
	}
	if _, err := c.Answer(t.Context(), []string{"one", "two", "three"}); err != nil {
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
	demos := []prompt.Example{{Input: "x\ny", Output: "z"}}
	shared, alone, bare := chatty(" a"), chatty(" a"), chatty(" a")
	alone.info.Can.SharedPrefix = false
	var answers []string
	for _, m := range []lm.Model{shared, alone, plain{bare}} {
		a, err := Open(t.Context(), m, k, demos, Options{Form: prompt.ChatForm})
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
	expect.True(t, "answers[0] other than |", answers[0] != "|", answers[0])
	expect.Equal(t, "answers[0]", answers[0], answers[1])
	expect.Equal(t, "answers[0]", answers[0], answers[2])
	for _, m := range []*toy{alone, bare} {
		if len(m.prompts) != 2 || !slices.Equal(m.prompts[1].Messages, conversation(k.WithDefaults(), prompt.Prompt{Examples: demos}, "two")) {
			t.Errorf("%+v", m.prompts)
		}
	}
}

// TestNoTurns: a model that does not chat, and questions that cannot be laid out so, are
// refused.
func TestNoTurns(t *testing.T) {
	for name, m := range map[string]lm.Model{"scores": newToy(), "text": plain{newToy()}} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), m, task("yes", "no"), nil, Options{Form: prompt.ChatForm})
			var unsupported *lm.UnsupportedError
			if !errors.As(err, &unsupported) {
				t.Errorf("%v", err)
			}
		})
	}
	for name, o := range map[string]Options{"calibrated": {Form: prompt.ChatForm, Calibrate: true}, "normalised": {Form: prompt.MessageForm, Normalise: true}} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(t.Context(), chatty(), task("yes", "no"), nil, o); err == nil {
				t.Errorf("what is written is %s", name)
			}
		})
	}
	if _, err := NewClassifier(t.Context(), chatty(), task("yes", "no"), nil, Options{Form: prompt.ChatForm}); err == nil {
		t.Error("turns are scored")
	}
}
