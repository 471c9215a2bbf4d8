package grader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
)

// judge gives grades[p][r].
type judge func([]prompt.Prompt, []seal.Record) ([][]int64, error)

// dependent finds a grade of records and prompts judged together that is another one
// where one record is judged about one prompt. All that is proven about choosing rests on
// there being none.
func dependent(together, alone judge, prompts []prompt.Prompt, records []seal.Record) error {
	all, err := together(prompts, records)
	if err != nil {
		return err
	}
	for p := range prompts {
		for r := range records {
			one, err := alone(prompts[p:p+1], records[r:r+1])
			if err != nil {
				return err
			}
			if g := one[0][0]; g != all[p][r] || g < 0 || g > One {
				return fmt.Errorf("record %d says %d of prompt %d by itself, and %d among others", r, g, p, all[p][r])
			}
		}
	}
	return nil
}

// cast are some records and prompts of a task, in any order.
func cast(task prompt.Task) *rapid.Generator[struct {
	prompts []prompt.Prompt
	records []seal.Record
}] {
	return rapid.Custom(func(t *rapid.T) (out struct {
		prompts []prompt.Prompt
		records []seal.Record
	},
	) {
		answers := []string{"a", "b", "cab", "first", "", "unknown", "b a"}
		words := rapid.SampledFrom([]string{"x", "y y", "long " + strings.Repeat("z", 80)})
		for i := range rapid.IntRange(1, 6).Draw(t, "records") {
			out.records = append(out.records, record(task, i+1, words.Draw(t, "question"), rapid.SampledFrom(answers).Draw(t, "answer")))
		}
		for range rapid.IntRange(1, 5).Draw(t, "prompts") {
			p := prompt.Prompt{Instruction: rapid.SampledFrom([]string{"", "Say.", "Tell " + strings.Repeat("me ", 20)}).Draw(t, "instruction")}
			for range rapid.IntRange(0, 2).Draw(t, "examples") {
				p.Examples = append(p.Examples, prompt.Example{Input: words.Draw(t, "input"), Output: rapid.SampledFrom(answers[:3]).Draw(t, "output")})
			}
			if !task.Open() {
				p.Calibrated = rapid.Bool().Draw(t, "calibrated")
				p.Evidence = rapid.SampledFrom(uses()).Draw(t, "evidence")
			}
			if p.Evidence.How == prompt.Alone {
				p = prompt.Prompt{Evidence: p.Evidence}
			}
			if near := rapid.IntRange(0, 3).Draw(t, "nearest"); near > 0 {
				p = near1(p, near, rapid.IntRange(1, 9).Draw(t, "of"))
			}
			out.prompts = append(out.prompts, p)
		}
		return out
	})
}

// TestGradesDependOnTheirRecordAlone, and on their prompt: not on which others are
// judged, in which order or in passes of which size, to the last bit.
func TestGradesDependOnTheirRecordAlone(t *testing.T) {
	for kind, task := range tasks() {
		for _, u := range served[kind] {
			t.Run(fmt.Sprint(kind, " ", u), func(t *testing.T) {
				rapid.Check(t, func(rt *rapid.T) {
					c := cast(task).Draw(rt, "cast")
					offers := []lm.Capabilities{{Top: true}, {Given: true, Top: true}, {Given: true, All: true}, {All: true}}
					if u == Rouge || u == Hard && task.Open() { // what is written needs the best token
						offers = offers[:2]
					}
					can := rapid.SampledFrom(offers).Draw(rt, "can")
					of := func(o Options, sequences int) judge {
						toy := &gradertest.Toy{Can: can, Context: 300, Sequences: sequences}
						o.Model, o.Task, o.Utility = trust(t, toy), task, u
						o = listed(t, o)
						j := newGrader(t, o)
						return func(p []prompt.Prompt, r []seal.Record) ([][]int64, error) {
							out, err := j.Judge(t.Context(), p, r)
							if toy.Opened != 0 {
								rt.Fatalf("%d sequences are open", toy.Opened)
							}
							return out, err
						}
					}
					pass := rapid.SampledFrom([]int{0, 1, 40, 200}).Draw(rt, "pass")
					held := rapid.IntRange(0, 3).Draw(rt, "held")
					together := of(Options{PassTokens: pass, Prompts: held}, rapid.IntRange(0, 3).Draw(rt, "sequences"))
					if err := dependent(together, of(Options{}, 0), c.prompts, c.records); err != nil {
						rt.Fatal(err)
					}
				})
			})
		}
	}
}

// TestDependentJuriesAreFound plants graders whose grades depend on other records or
// prompts.
func TestDependentJuriesAreFound(t *testing.T) {
	task := tasks()[prompt.Classify]
	j := newGrader(t, Options{Model: trust(t, &gradertest.Toy{}), Task: task, Utility: Soft})
	right := func(p []prompt.Prompt, r []seal.Record) ([][]int64, error) { return j.Judge(t.Context(), p, r) }
	var records []seal.Record
	for i := range 5 {
		records = append(records, record(task, i+1, fmt.Sprint("question ", i), task.Labels[i%3]))
	}
	prompts := []prompt.Prompt{{}, {Instruction: "Say."}, {Calibrated: true}}
	if err := dependent(right, right, prompts, records); err != nil {
		t.Fatal(err)
	}
	for bug, change := range map[string]func([][]int64){
		"weights of calibration from the records": func(all [][]int64) {
			for _, of := range all {
				total := int64(1)
				for _, g := range of {
					total += g
				}
				for i := range of {
					of[i] = min(One, of[i]*int64(len(of))*One/2/total)
				}
			}
		},
		"the best prompt of a record": func(all [][]int64) {
			for r := range all[0] {
				highest := int64(0)
				for p := range all {
					highest = max(highest, all[p][r])
				}
				for p := range all {
					all[p][r] = One * (all[p][r] / max(1, highest))
				}
			}
		},
		"equal records count once": func(all [][]int64) {
			for _, of := range all {
				for r := range of {
					if slices.Contains(of[:r], of[r]) || r == 3 {
						of[r] = 0
					}
				}
			}
		},
		"above one": func(all [][]int64) {
			for _, of := range all {
				for r := range of {
					of[r] += One
				}
			}
		},
	} {
		wrong := func(p []prompt.Prompt, r []seal.Record) ([][]int64, error) {
			out, err := right(p, r)
			if err == nil {
				change(out)
			}
			return out, err
		}
		if dependent(wrong, wrong, prompts, records) == nil {
			t.Errorf("%s: not found", bug)
		}
	}
}

// embedded is the default model, which tests share.
var embedded = sync.OnceValues(func() (lm.TrustedScorer, error) {
	return backend.Trusted(context.Background(), backend.Spec{})
})

// TestPlainDefaultModelJudgesRecordsAlone: the same, bit for bit, with the engine.
func TestPlainDefaultModelJudgesRecordsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	model, err := embedded()
	if err != nil {
		t.Fatalf("%v\nrun: go run ./cmd/sotto model pull", err)
	}
	// Hard grades are read off the same scores.
	for name, u := range map[string]Utility{"agnews": Soft, "mit-g": Soft, "e2e": Rouge} {
		task, err := prompt.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		questions := []string{"The striker scored twice in the final of the cup", "Shares of the bank fell", "A film about ghosts, please", "name[The Mill], food[fish]"}
		answers := []string{"Sports", "Business", "scary", "You get fish at The Mill."}
		if !task.Open() {
			answers[2], answers[3] = "Technology", "unknown"
		}
		var records []seal.Record
		for i, q := range questions {
			records = append(records, record(task, i+1, q, answers[i]))
		}
		prompts := []prompt.Prompt{{}, {Instruction: "Answer.", Examples: []prompt.Example{{Input: questions[1], Output: answers[1]}}}}
		if !task.Open() {
			prompts = append(prompts, prompt.Prompt{Examples: prompts[1].Examples, Calibrated: true}, prompts[0])
		}
		of := func(o Options) judge {
			o.Model, o.Task, o.Utility = model, task, u
			j := newGrader(t, o)
			return func(p []prompt.Prompt, r []seal.Record) ([][]int64, error) { return j.Judge(t.Context(), p, r) }
		}
		if err := dependent(of(Options{}), of(Options{PassTokens: 1}), prompts, records); err != nil {
			t.Errorf("%s, %s: %v", name, u, err)
		}
		backward := slices.Clone(records)
		slices.Reverse(backward)
		if err := dependent(of(Options{PassTokens: 50, Prompts: 1}), of(Options{}), prompts[:2], backward[:3]); err != nil {
			t.Errorf("%s, %s, backward: %v", name, u, err)
		}
	}
}
