package icl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/evidence/nearest"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// TestNearestDemonstrations: an answer is that of a model which has the question's nearest demonstrations alone, in every
// form and however the model is asked; demonstrations are encoded once.
func TestNearestDemonstrations(t *testing.T) {
	demos := []prompt.Example{{Input: "the tree", Output: "no"}, {Input: "on foot", Output: "yes"}, {Input: "too", Output: "no"}, {Input: "eee", Output: "yes"}}
	near := prompt.Nearest{Examples: 2, Encoder: "letters"}
	for _, form := range prompt.Forms() {
		for _, model := range []string{"shares", "writes whole prompts", "only writes"} {
			name := fmt.Sprintf("%s, %s", form, model)
			open := func() (lm.Model, *toy) {
				m := chatty(" yes", " no")
				m.info.Can.SharedPrefix = model == "shares"
				if model == "only writes" {
					m.info.Can.Candidates = false
					return plain{m}, m
				}
				return m, m
			}
			picker, err := nearest.Open(t.Context(), prompt.Prompt{Examples: demos, Nearest: near}, &letterCounts{})
			if err != nil {
				t.Fatal(err)
			}
			picked, err := picker.Pick(t.Context(), asking)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			var seen []lm.Prompt
			for i, q := range asking {
				m, of := open()
				by, err := Open(t.Context(), m, task(answersOf...), picked[i], Options{Form: form})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				one, err := by.Answer(t.Context(), []string{q})
				if err = errors.Join(err, by.Close()); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				want, seen = append(want, one...), append(seen, of.prompts...)
			}
			encoder := &letterCounts{}
			m, of := open()
			a, err := Open(t.Context(), m, task(answersOf...), demos, Options{Form: form, Nearest: near, Encoder: encoder})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for range 2 {
				of.prompts = nil
				got, err := a.Answer(t.Context(), asking)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %q, want %q, %v", name, got, want, err)
				}
			}
			if got := fmt.Sprint(of.prompts); got != fmt.Sprint(seen) {
				t.Errorf("%s: the model is asked\n%s\nwant\n%s", name, got, fmt.Sprint(seen))
			}
			if got, want := len(encoder.texts), len(demos)+2*len(asking); got != want {
				t.Errorf("%s: %d texts are encoded, want %d", name, got, want)
			}
			if !strings.Contains(a.Describe(), "with the 2 demonstrations nearest to each question") {
				t.Errorf("%s: %q", name, a.Describe())
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestWrongNearest: without an encoder, with another one, calibrated, or where the longest do not fit, nothing is answered.
func TestWrongNearest(t *testing.T) {
	demos := []prompt.Example{{Input: "the tree", Output: "no"}, {Input: strings.Repeat("on foot ", 20), Output: "yes"}, {Input: "too", Output: "no"}}
	near := prompt.Nearest{Examples: 1, Encoder: "letters"}
	m := newToy(" yes", " no")
	short := newToy(" yes", " no")
	short.info.Context = 260
	for want, c := range map[string]struct {
		m lm.Model
		o Options
	}{
		"there is none":      {m, Options{Nearest: near}},
		"not comparable":     {m, Options{Nearest: prompt.Nearest{Examples: 1, Encoder: "other"}, Encoder: &letterCounts{}}},
		"not calibrated":     {m, Options{Nearest: near, Encoder: &letterCounts{}, Calibrate: true}},
		"the toy failed":     {m, Options{Nearest: near, Encoder: &letterCounts{fail: true}}},
		"more than the mode": {short, Options{Nearest: near, Encoder: &letterCounts{}}},
	} {
		t.Run(want, func(t *testing.T) {
			if a, err := Open(t.Context(), c.m, task(answersOf...), demos, c.o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, %v", a, err)
			}
		})
	}
	if _, err := Open(t.Context(), short, task(answersOf...), demos[:1], Options{Nearest: near, Encoder: &letterCounts{}}); err != nil {
		t.Errorf("short demonstrations do not fit: %v", err)
	}
}
