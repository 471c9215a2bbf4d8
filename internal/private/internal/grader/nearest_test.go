package grader

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
)

// near1 is a prompt of whose examples a question gets the nearest, with one label for all.
func near1(p prompt.Prompt, near, of int) prompt.Prompt {
	p.Calibrated, p.Evidence, p.Examples = false, prompt.Use{}, nil
	for i := range of {
		p.Examples = append(p.Examples, prompt.Example{Input: fmt.Sprint("in ", i), Output: "a"})
	}
	p.Nearest = prompt.Nearest{Examples: near, Encoder: (&gradertest.Encoder{}).Name()}
	return p
}

// nearHand are the examples nearest to a text by the definition, the most similar last.
func nearHand(p prompt.Prompt, text string) []prompt.Example {
	likeness := func(e prompt.Example) (sum float32) {
		v, w := gradertest.Vector(text), gradertest.Vector(e.Input)
		for i := range v {
			sum += v[i] * w[i]
		}
		return sum
	}
	list := slices.Clone(p.Examples)
	slices.SortFunc(list, func(a, b prompt.Example) int { return cmp.Compare(likeness(a), likeness(b)) })
	return list[max(0, len(list)-p.Nearest.Examples):]
}

// TestGradesWithTheNearestExamples: the grade of a record is that on the prompt which holds the examples nearest
// to its own input, for every kind of task and utility.
func TestGradesWithTheNearestExamples(t *testing.T) {
	for kind, task := range tasks() {
		for _, u := range served[kind] {
			t.Run(fmt.Sprint(kind, " ", u), func(t *testing.T) {
				j := newGrader(t, listed(t, Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: u, PassTokens: 500}))
				prompts := []prompt.Prompt{near1(prompt.Prompt{}, 2, 8), near1(prompt.Prompt{Instruction: "Say."}, 3, 8), near1(prompt.Prompt{}, 9, 4)}
				var records []seal.Record
				question := func(i int) string { return fmt.Sprint("question ", i) }
				for i := range 20 {
					records = append(records, record(task, i+1, question(i), []string{"a", "b", "cab"}[i%3]))
				}
				got, err := j.Judge(t.Context(), prompts, records)
				if err != nil {
					t.Fatal(err)
				}
				fixedSet := newGrader(t, Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: u})
				differ := 0
				for at, p := range prompts {
					for i := range records {
						own := prompt.Prompt{Instruction: p.Instruction, Examples: nearHand(p, question(i))}
						want, err := fixedSet.Judge(t.Context(), []prompt.Prompt{own, p.With(p.Shown())}, records[i:i+1])
						if err != nil {
							t.Fatal(err)
						}
						if got[at][i] != want[0][0] {
							t.Errorf("the grade of record %d on prompt %d is %d, and on its own examples %d", i, at, got[at][i], want[0][0])
						}
						if want[0][0] != want[1][0] {
							differ++
						}
					}
				}
				if differ == 0 && u != Hard && u != Rouge {
					t.Error("no grade depends on which examples a record gets")
				}
			})
		}
	}
}

// TestNearestIsOfTheInputAlone: what the model sees of a record with its nearest examples holds nothing of the label.
func TestNearestIsOfTheInputAlone(t *testing.T) {
	task := tasks()[prompt.Classify]
	var shown [3][]string
	for l, label := range task.Labels {
		toy := &gradertest.Toy{Logits: func(text string) []float64 {
			shown[l] = append(shown[l], text)
			return gradertest.Hash(text)
		}}
		j := newGrader(t, listed(t, Options{Model: trust(t, toy), Task: task, Utility: Soft}))
		if _, err := j.Judge(t.Context(), []prompt.Prompt{near1(prompt.Prompt{}, 2, 8)}, []seal.Record{record(task, 1, "question", label)}); err != nil {
			t.Fatal(err)
		}
	}
	at := expect.At(t, "what the model sees depends on the record's label")
	expect.True(at, "len(shown[0]) is not 0", len(shown[0]) != 0, len(shown[0]))
	expect.True(at, "shown[0] equal to shown[1]", slices.Equal(shown[0], shown[1]), shown[0], shown[1])
	expect.True(at, "shown[0] equal to shown[2]", slices.Equal(shown[0], shown[2]), shown[0], shown[2])
}

// TestNearestEncoders: records go to no encoder that is not trusted, and none picks that the prompt does not name.
func TestNearestEncoders(t *testing.T) {
	task := tasks()[prompt.Extract]
	records := []seal.Record{record(task, 1, "question", "a")}
	p := near1(prompt.Prompt{}, 2, 8)
	j := newGrader(t, Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: Hard})
	if _, err := j.Judge(t.Context(), []prompt.Prompt{p}, records); err == nil || !strings.Contains(err.Error(), "trusted encoder") {
		t.Errorf("without an encoder: %v", err)
	}
	encoder := &gradertest.Encoder{}
	j = newGrader(t, Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: Hard, Encoder: trustEncoder(t, encoder)})
	p.Nearest.Encoder = "another"
	if _, err := j.Judge(t.Context(), []prompt.Prompt{p}, records); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("with another encoder: %v", err)
	}
	// What is public is encoded once, and a record once in each call.
	p.Nearest.Encoder = encoder.Name()
	encoder.Texts = 0
	for range 3 {
		if _, err := j.Judge(t.Context(), []prompt.Prompt{p, near1(prompt.Prompt{}, 4, 6)}, records); err != nil {
			t.Fatal(err)
		}
	}
	if encoder.Texts != 8+3 {
		t.Errorf("%d texts were encoded, of 8 examples and one record in 3 calls", encoder.Texts)
	}
	encoder.Fail = func(string) error { return errInjected }
	if _, err := j.Judge(t.Context(), []prompt.Prompt{p}, records); err == nil {
		t.Error("an encoder that fails is not noticed")
	} else {
		clean(t, "an encoder that fails", err)
	}
}

// TestPlainNearestOfRecordsAlone: with the encoder that is embedded, the examples of a record do not depend on the
// others of a draw, their lengths or their order.
func TestPlainNearestOfRecordsAlone(t *testing.T) {
	encoder, err := backend.TrustedEncoder("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = encoder.Close() })
	task := tasks()[prompt.Extract]
	var examples []prompt.Example
	for _, text := range []string{"a film with a striker", "shares of a bank", "a comet in June", "the baker's bread", "", "rain", "größe"} {
		examples = append(examples, prompt.Example{Input: "about " + text, Output: "a"})
	}
	j := newGrader(t, Options{Model: trust(t, &gradertest.Toy{Context: 1 << 20}), Task: task, Utility: Soft, Encoder: encoder})
	judges := func(p []prompt.Prompt, r []seal.Record) ([][]int64, error) { return j.Judge(t.Context(), p, r) }
	var records []seal.Record
	for i, text := range []string{"The striker scored", "", strings.Repeat("shares fell and rose, and fell. ", 40), "a comet", "größe 日本 🎬", "A marathon in the rain, won by a baker of forty"} {
		records = append(records, record(task, i+1, text, []string{"a", "b", "cab"}[i%3]))
	}
	p := prompt.Prompt{Examples: examples, Nearest: prompt.Nearest{Examples: 2, Encoder: encoder.Name()}}
	for range 2 {
		if err := dependent(judges, judges, []prompt.Prompt{p, p.With(examples)}, records); err != nil {
			t.Error(err)
		}
		slices.Reverse(records)
	}
}
