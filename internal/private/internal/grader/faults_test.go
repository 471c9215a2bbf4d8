package grader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/internal/grader/gradertest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// canary is in every record, and must be in no error.
const canary = "canary-4711"

func clean(t *testing.T, what string, err error) {
	t.Helper()
	for _, format := range []string{"%v", "%+v", "%#v", "%q"} {
		if s := fmt.Sprintf(format, err); strings.Contains(s, "canary") {
			t.Errorf("%s: the error shows what is in a record: %s", what, s)
		}
	}
}

var errInjected = errors.New("it broke")

// TestFaults breaks every call of the model: the error comes out without a word of the
// records and without grades, and nothing is left open.
func TestFaults(t *testing.T) {
	for kind, task := range tasks() {
		for _, u := range served[kind] {
			prompts := []prompt.Prompt{{}, {Instruction: "Other."}, {Examples: []prompt.Example{{Input: "in", Output: "a"}}, Calibrated: kind == prompt.Classify}}
			var records []seal.Record
			for i := range 4 {
				records = append(records, record(task, i+1, fmt.Sprint(canary, i), "cab"))
			}
			happened := map[string]bool{}
			for fail := 1; ; fail++ {
				calls, failed := 0, ""
				toy := &gradertest.Toy{}
				j := newGrader(t, Options{Model: trust(t, toy), Task: task, Utility: u, PassTokens: 40, Prompts: 2})
				toy.Fail = func(call string) error {
					if calls++; calls == fail {
						failed = call
						return errInjected
					}
					return nil
				}
				got, err := j.Judge(t.Context(), prompts, records)
				if calls < fail {
					if err != nil || len(got) != len(prompts) {
						t.Errorf("%s, %s: %v without a fault", kind, u, err)
					}
					break
				}
				happened[failed] = true
				clean(t, failed, err)
				if !errors.Is(err, errInjected) || got != nil {
					t.Errorf("%s, %s: %s (call %d) failed: %v, %v", kind, u, failed, fail, got, err)
				}
				if toy.Opened != 0 {
					t.Errorf("%s, %s: %s (call %d) failed, and %d sequences are open", kind, u, failed, fail, toy.Opened)
				}
			}
			for _, call := range []string{"open", "new", "fork", "step", "drop", "encode", "close"} {
				if !happened[call] {
					t.Errorf("%s, %s: %s is never called", kind, u, call)
				}
			}
		}
	}
}

// TestLimitsAreKept: a step has no more sequences than the model takes, and held prompts
// are as many as was said.
func TestLimitsAreKept(t *testing.T) {
	for kind, task := range tasks() {
		u := served[kind][0]
		toy := &gradertest.Toy{Sequences: 3}
		seen := 0
		j := newGrader(t, Options{Model: trust(t, toy), Task: task, Utility: u, Usage: usage(&seen)})
		var prompts []prompt.Prompt
		var records []seal.Record
		for i := range 7 {
			prompts = append(prompts, prompt.Prompt{Instruction: fmt.Sprint("Way ", i)})
			records = append(records, record(task, i+1, fmt.Sprint("question ", i), "a"))
		}
		_, err := j.Judge(t.Context(), prompts, records)
		at := expect.At(t, "%s", kind)
		expect.NoError(at, err)
		expect.Max(at, "toy.Widest", toy.Widest, 3)
		expect.Min(at, "toy.Widest", toy.Widest, 2)
		if seen == 0 {
			t.Errorf("%s: no work is reported", kind)
		}
	}
}

// TestWrongPrompts are refused before any record is shown, in words about the prompt.
func TestWrongPrompts(t *testing.T) {
	for kind, task := range tasks() {
		toy := &gradertest.Toy{}
		j := newGrader(t, Options{Model: trust(t, toy), Task: task, Utility: served[kind][0]})
		wrong := map[string]prompt.Prompt{"lacks": {Examples: []prompt.Example{{Input: "in"}}}, "UTF-8": {Instruction: "\xff"}}
		if kind == prompt.Classify {
			wrong["not one of the task"] = prompt.Prompt{Examples: []prompt.Example{{Input: "in", Output: "other"}}}
		} else {
			wrong["calibrate"] = prompt.Prompt{Calibrated: true}
		}
		for want, p := range wrong {
			_, err := j.Judge(t.Context(), []prompt.Prompt{{}, p}, []seal.Record{record(task, 1, canary, "a")})
			at := expect.At(t, "%s", kind)
			expect.Contains(at, "err", fmt.Sprint(err), want)
			expect.Contains(at, "err", fmt.Sprint(err), "prompt 2")
			expect.Max(at, "toy.Longest", toy.Longest, 0)
		}
	}
}

// TestEndedContext: what is interrupted says so.
func TestEndedContext(t *testing.T) {
	task := tasks()[prompt.Classify]
	ctx, cancel := context.WithCancel(t.Context())
	toy := &gradertest.Toy{}
	j := newGrader(t, Options{Model: trust(t, toy), Task: task, Utility: Hard})
	toy.Fail = func(call string) error {
		if call == "step" {
			cancel()
		}
		return ctx.Err()
	}
	if _, err := j.Judge(ctx, []prompt.Prompt{{}}, []seal.Record{record(task, 1, "q", "a")}); !errors.Is(err, context.Canceled) || toy.Opened != 0 {
		t.Errorf("%v, %d sequences are open", err, toy.Opened)
	}
}

func usage(seen *int) func(lm.Usage) { return func(lm.Usage) { *seen++ } }
