package icl

import (
	"errors"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/sys/expect"
	"pgregory.net/rapid"
)

// TestEachHasAClassifierToItself: questions with demonstrations of their own are answered as
// by a classifier with those demonstrations, whatever is asked beside them.
func TestEachHasAClassifierToItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newToy(" yes", " no")
		m.begins = rapid.Bool().Draw(t, "begins")
		m.info.Sequences = rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "sequences")
		o := Options{
			Calibrate: rapid.Bool().Draw(t, "calibrate"), Normalise: rapid.Bool().Draw(t, "normalise"),
			PassTokens: rapid.SampledFrom([]int{0, 1, 200}).Draw(t, "pass"),
		}
		k := task("yes", "no", "perhaps")
		demo := rapid.Custom(func(t *rapid.T) prompt.Example {
			return prompt.Example{Input: rapid.StringMatching("[a-z ]{0,9}").Draw(t, "text"), Output: rapid.SampledFrom(k.Labels).Draw(t, "label")}
		})
		shared := rapid.SliceOfN(demo, 0, 2).Draw(t, "shared")
		questions := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Query {
			return Query{rapid.SliceOfN(demo, 0, 3).Draw(t, "demos"), rapid.StringMatching("[a-z]{0,9}").Draw(t, "input")}
		}), 0, 6).Draw(t, "questions")
		c, err := NewClassifier(t.Context(), m, k, shared, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open := m.open
		got, err := c.ClassifyEach(t.Context(), questions)
		if err != nil || len(got) != len(questions) {
			t.Fatalf("%d answers to %d questions, %v", len(got), len(questions), err)
		}
		if m.open != open {
			t.Fatalf("%d sequences are open, %d were", m.open, open)
		}
		for i, q := range questions {
			alone, err := NewClassifier(t.Context(), m, k, append(shared[:len(shared):len(shared)], q.Demos...), o)
			if err != nil {
				t.Fatal(err)
			}
			want, err := alone.Classify(t.Context(), []string{q.Input})
			if err != nil {
				t.Fatal(err)
			}
			same(t, got[i].Raw, k.Labels, want[0].Raw.Scores)
			same(t, got[i].Classification, k.Labels, want[0].Scores)
			if err := alone.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestFailuresOfEach: whichever call of the model fails, there are no answers and nothing
// stays behind.
func TestFailuresOfEach(t *testing.T) {
	questions := []Query{{[]prompt.Example{{Input: "a", Output: "no"}}, "one"}, {nil, "two"}, {[]prompt.Example{{Input: "b", Output: "yes"}, {Input: "c", Output: "no"}}, "three"}}
	for at := 1; ; at++ {
		m := newToy(" yes", " no")
		c, err := NewClassifier(t.Context(), m, task("yes", "no", "perhaps"), nil, Options{Calibrate: true, PassTokens: 64})
		if err != nil {
			t.Fatal(err)
		}
		open, calls := m.open, m.calls
		m.failAt = calls + at
		got, err := c.ClassifyEach(t.Context(), questions)
		if err == nil {
			if at < 10 {
				t.Errorf("only %d calls can fail", at-1)
			}
			return
		}
		about := expect.At(t, "call %d", at)
		expect.True(about, "the error errToy", errors.Is(err, errToy), err)
		expect.True(about, "no got", got == nil, got)
		expect.Equal(about, "m.open", m.open, open)
		if err := c.Close(); err != nil || m.open != 0 {
			t.Errorf("call %d: %v, %d sequences are open", at, err, m.open)
		}
	}
}

// TestTooManyOfEach: a prompt that the model has no room for is an error that says so.
func TestTooManyOfEach(t *testing.T) {
	c, err := NewClassifier(t.Context(), newToy(), task("yes", "no"), nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.ClassifyEach(t.Context(), []Query{{[]prompt.Example{{Input: strings.Repeat("x", 5000), Output: "no"}}, "one"}})
	if err == nil || !strings.Contains(err.Error(), "fewer or shorter demonstrations") {
		t.Error(err)
	}
}
