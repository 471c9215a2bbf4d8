package icl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// TestOpen: labels are scored where scores are to be had, beginnings are shared where
// the model shares them, and everything else writes.
func TestOpen(t *testing.T) {
	lacking := &lm.UnsupportedError{Backend: "toy", What: "score", Missing: "scores"}
	list, open := task("yes", "no"), writeTask(prompt.Extract)
	for name, c := range map[string]struct {
		model func(*toy) lm.Model
		task  prompt.Task
		o     Options
		how   string
		kind  Answerer
		times int
		err   string
	}{
		"scores":           {model: func(m *toy) lm.Model { return m }, task: list, how: howScores, kind: &Classifier{}},
		"calibrated":       {model: func(m *toy) lm.Model { return m }, task: list, o: Options{Calibrate: true, Normalise: true}, how: howScores + ", for each of its tokens, calibrated", kind: &Classifier{}},
		"shared":           {model: func(m *toy) lm.Model { return m }, task: open, o: Options{Calibrate: true}, how: howWriting, kind: &Writer{}},
		"not shared":       {model: func(m *toy) lm.Model { m.info.Can.SharedPrefix = false; return m }, task: open, how: howWriting, kind: &textAnswerer{}},
		"text":             {model: func(m *toy) lm.Model { return plain{m} }, task: open, how: howWriting, kind: &textAnswerer{}},
		"labels as text":   {model: func(m *toy) lm.Model { return plain{m} }, task: list, how: howMatch, kind: &textAnswerer{}},
		"no candidates":    {model: func(m *toy) lm.Model { m.info.Can.Candidates = false; return m }, task: list, how: howMatch, kind: &textAnswerer{}},
		"asked for scores": {model: func(m *toy) lm.Model { return &scorerModel{Model: plain{m}, scorer: m} }, task: list, how: howScores, kind: &Classifier{}, times: 1},
		"asked in vain":    {model: func(m *toy) lm.Model { return &scorerModel{Model: plain{m}, err: lacking} }, task: list, how: howMatch, kind: &textAnswerer{}, times: 1},
		"not asked":        {model: func(m *toy) lm.Model { return &scorerModel{Model: plain{m}, scorer: m} }, task: open, how: howWriting, kind: &textAnswerer{}},
		"asking fails":     {model: func(m *toy) lm.Model { return &scorerModel{Model: plain{m}, err: errToy} }, task: list, err: "the toy failed", times: 1},
		"calibrated text":  {model: func(m *toy) lm.Model { return plain{m} }, task: list, o: Options{Calibrate: true}, err: "turn both off"},
		"calibrated, lacks": {
			model: func(m *toy) lm.Model { return &scorerModel{Model: plain{m}, err: lacking} }, task: list, o: Options{Calibrate: true},
			err: "toy cannot score: scores", times: 1,
		},
		"normalised text": {model: func(m *toy) lm.Model { return plain{m} }, task: list, o: Options{Normalise: true}, err: "turn both off"},
		"does not write":  {model: func(m *toy) lm.Model { m.info.Can.Generate = false; return plain{m} }, task: open, err: "does not write"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newToy(" yes", " no")
			model := c.model(m)
			a, err := Open(t.Context(), model, c.task, nil, c.o)
			if asked, ok := model.(*scorerModel); ok && asked.times != c.times {
				t.Errorf("asked for scores %d times", asked.times)
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			if fmt.Sprintf("%T", a) != fmt.Sprintf("%T", c.kind) || a.Describe() != c.how {
				t.Errorf("%T, %q", a, a.Describe())
			}
			if got, err := a.Answer(t.Context(), []string{"a question"}); err != nil || len(got) != 1 {
				t.Errorf("%q, %v", got, err)
			}
			a.Close()
		})
	}
}

// TestWaysAgree: sharing what questions begin with does not change an answer.
func TestWaysAgree(t *testing.T) {
	inputs := []string{"one", "two", "three"}
	k := writeTask(prompt.Generate)
	shared := newToy(" a")
	alone := newToy(" a")
	alone.info.Can.SharedPrefix = false
	var answers [][]string
	for _, m := range []lm.Model{shared, alone, plain{newToy(" a")}} {
		a, err := Open(t.Context(), m, k, []prompt.Example{{Input: "x", Output: "y"}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Answer(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, got)
		a.Close()
	}
	if a, b, c := fmt.Sprint(answers[0]), fmt.Sprint(answers[1]), fmt.Sprint(answers[2]); a != b || b != c {
		t.Errorf("%s, %s, %s", a, b, c)
	}
	if len(alone.prompts) != len(inputs) || len(shared.prompts) != 0 {
		t.Errorf("%d and %d whole prompts", len(alone.prompts), len(shared.prompts))
	}
}

func TestAnswer(t *testing.T) {
	m := newToy()
	m.answer = " a word\nand more"
	k, err := prompt.Builtin("mit-g")
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for i := range 100 {
		inputs = append(inputs, fmt.Sprintf("a  film %d", i))
	}
	k.Limits.AnswerTokens = 12
	answers, err := written(t.Context(), plain{m}, k, []prompt.Example{{Input: "a horror\nfilm", Output: " slow \n horror\n"}}, inputs, Options{})
	expect.NoError(t, err)
	expect.Len(t, "answers", answers, len(inputs))
	expect.Len(t, "m.prompts", m.prompts, len(inputs))
	if answers[99] != "a word" {
		t.Errorf("%q", answers[99])
	}
	if got, want := m.prompts[99].Text, "\nSentence: a horror film\nGenre: slow horror\n\nSentence: a film 99\nGenre:"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestChat: a model that takes messages only gets one, and may be talkative.
func TestChat(t *testing.T) {
	for written, want := range map[string]string{
		"Yes":                  "yes",
		"\n\nyes, it is":       "yes",
		"A: NO\nBecause":       "no",
		"a:no":                 "no",
		"I think yes":          "",
		"":                     "",
		"yesterday":            "",
		"The answer is no":     "",
		"no\nyes":              "no",
		"A:\n\nyes (probably)": "yes",
	} {
		t.Run(written, func(t *testing.T) {
			m := newToy()
			m.info.Can.Generate, m.info.Can.Chat = false, true
			m.answer = written
			model := lm.Model(plain{m})
			k := task("yes", "no")
			k.Limits.AnswerTokens = 100
			a, err := Open(t.Context(), model, k, []prompt.Example{{Input: "a", Output: "yes"}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if m.answer == "" {
				m.answer = "\n"
			}
			got, err := a.Answer(t.Context(), []string{"b"})
			if err != nil || got[0] != want {
				t.Errorf("%q, want %q, %v", got, want, err)
			}
			if u := a.Usage(); u.Requests != 1 {
				t.Errorf("%d requests are counted", u.Requests)
			}
			if got, want := m.prompts[0].Messages[0], (lm.Message{Role: lm.User, Content: "Choose.\n\nQ: a\nA: yes\n\nQ: b\nA:"}); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestErrorsAreClear(t *testing.T) {
	_, err := Open(t.Context(), plain{newToy()}, task("a", "b"), nil, Options{Calibrate: true})
	var unsupported *lm.UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Errorf("%v is not of the kind that callers tell apart", err)
	}
}

// written generates answers from whole prompts.
func written(ctx context.Context, m lm.Model, t prompt.Task, demos []prompt.Example, inputs []string, o Options) ([]string, error) {
	w, err := newTextAnswerer(ctx, m, t, demos, o)
	if err != nil {
		return nil, err
	}
	return w.Answer(ctx, inputs)
}
