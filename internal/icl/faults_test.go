package icl

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// ways are all that answer, each with a task of its own.
var ways = map[string]func(ctx context.Context, m *toy) (Answerer, error){
	"classifier": func(ctx context.Context, m *toy) (Answerer, error) {
		return Open(ctx, m, task("yes", "no", "perhaps", "perhaps not"), []prompt.Example{{Input: "a", Output: "no"}}, Options{Calibrate: true, PassTokens: 64})
	},
	"writer": func(ctx context.Context, m *toy) (Answerer, error) {
		return Open(ctx, m, writeTask(prompt.Extract), []prompt.Example{{Input: "a", Output: "b"}}, Options{PassTokens: 64})
	},
	"written by itself": func(ctx context.Context, m *toy) (Answerer, error) {
		m.info.Can.SharedPrefix = false
		return Open(ctx, m, writeTask(prompt.Extract), []prompt.Example{{Input: "a", Output: "b"}}, Options{PassTokens: 64})
	},
	"text alone": func(ctx context.Context, m *toy) (Answerer, error) {
		return Open(ctx, plain{m}, task("yes", "no"), []prompt.Example{{Input: "a", Output: "b"}}, Options{PassTokens: 64})
	},
}

// TestFailures: whichever call of the model fails, the call of ours fails with its error
// and without answers, nothing stays behind, and asking again gives the answers.
func TestFailures(t *testing.T) {
	inputs := []string{"one", "", "four words are here"}
	for name, open := range ways {
		m := newToy(" yes", " no")
		a, err := open(t.Context(), m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := a.Answer(t.Context(), inputs)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a.Close()
		calls := m.calls
		for at := 1; at <= calls; at++ {
			m := newToy(" yes", " no")
			m.failAt = at
			a, err := open(t.Context(), m)
			if err != nil {
				about := expect.At(t, "%s, call %d", name, at)
				expect.True(about, "the error errToy", errors.Is(err, errToy), err)
				expect.Equal(about, "m.open", m.open, 0)
				expect.Equal(about, "m.sessions", m.sessions, 0)
				continue
			}
			before := m.open
			if got, err := a.Answer(t.Context(), inputs); !errors.Is(err, errToy) || got != nil {
				t.Errorf("%s, call %d: %v, %v", name, at, got, err)
			}
			if m.open != before {
				t.Errorf("%s, call %d: %d sequences are open, %d were", name, at, m.open, before)
			}
			if got, err := a.Answer(t.Context(), inputs); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, after call %d: %q, want %q, %v", name, at, got, want, err)
			}
			err = a.Close()
			about := expect.At(t, "%s, call %d", name, at)
			expect.NoError(about, err)
			expect.Equal(about, "m.open", m.open, 0)
			expect.Equal(about, "m.sessions", m.sessions, 0)
		}
	}
}

// TestCancelled: an ended context ends the call, and nothing stays behind.
func TestCancelled(t *testing.T) {
	for name, open := range ways {
		m := newToy(" yes", " no")
		a, err := open(t.Context(), m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := m.open
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got, err := a.Answer(ctx, []string{"a", "b"})
		at := expect.At(t, "%s", name)
		expect.True(at, "the error context.Canceled", errors.Is(err, context.Canceled), err)
		expect.True(at, "no got", got == nil, got)
		expect.Equal(at, "m.open", m.open, before)
		a.Close()
	}
}

// TestNothingToAnswer: no questions have no answers.
func TestNothingToAnswer(t *testing.T) {
	for name, open := range ways {
		a, err := open(t.Context(), newToy(" yes", " no"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := a.Answer(t.Context(), nil); err != nil || len(got) != 0 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		a.Close()
	}
}

// TestTooLong: what does not fit the model is refused before anything is asked, or by
// the model; both say what to do.
func TestTooLong(t *testing.T) {
	m := newToy()
	m.info.Context = 64
	m.info.Can.SharedPrefix = false
	a, err := Open(t.Context(), m, writeTask(prompt.Extract), []prompt.Example{{Input: "a long story that fills the prompt", Output: "b"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var long *lm.ContextError
	if _, err := a.Answer(t.Context(), []string{"and a question"}); !errors.As(err, &long) {
		t.Error(err)
	}
}
