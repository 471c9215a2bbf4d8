package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/bench/harness"
)

func TestRatioIsTheMedianOverTurns(t *testing.T) {
	r := row{measure: measure{Per: 10, Rate: true}, Seconds: [][]float64{{1, 2, 4}, {2, 10, 4}}}
	if got, want := r.compared(1, 0), "**2.00×** (1.00–5.00)"; got != want {
		t.Errorf("ratio %q, want %q", got, want)
	}
	if got, want := r.cell(0), "5.00 (2.50–10.0)"; got != want {
		t.Errorf("cell %q, want %q", got, want)
	}
}

func TestMissedGoalIsSaid(t *testing.T) {
	r := row{Seconds: [][]float64{{1, 1, 1}, {3, 3, 3}}}
	if got := r.compared(1, 5); !strings.Contains(got, "missed") {
		t.Errorf("%q does not say that the goal was missed", got)
	}
	if got := r.compared(1, 3); strings.Contains(got, "missed") {
		t.Errorf("%q says that a goal which was reached was missed", got)
	}
}

func TestBusyMachineIsSaid(t *testing.T) {
	for load, want := range map[string]bool{"0.10": false, "2.50": true, "unknown": true} {
		r := report{Machine: harness.Machine{Load: load}}
		if got := strings.Contains(r.text(), "not idle"); got != want {
			t.Errorf("load %s: warned %v, want %v", load, got, want)
		}
	}
}

func TestFigures(t *testing.T) {
	for _, c := range []struct {
		measure measure
		seconds float64
		want    string
	}{
		{measure{Per: 512, Rate: true, Unit: "tokens/s"}, 2, "256 tokens/s"},
		{measure{Per: 16, Unit: "ms a step"}, 0.8, "50.0 ms a step"},
		{measure{Per: 1, Unit: "ms"}, 0.0041, "4.10 ms"},
	} {
		if got := c.measure.figure(c.seconds); got != c.want {
			t.Errorf("%v s: %q, want %q", c.seconds, got, c.want)
		}
	}
}

// Both sides must be able to do all that is asked of them: distinct candidates,
// and an own token for each step of the ensemble.
func TestTasksCanBeDone(t *testing.T) {
	for _, m := range measures() {
		seen := map[any]bool{}
		for _, c := range m.Candidates {
			if seen[c] {
				t.Errorf("%s: candidate %d twice", m.Task, c)
			}
			seen[c] = true
		}
		for i, own := range m.Own {
			if m.Steps > len(own) {
				t.Errorf("%s: sequence %d has %d tokens for %d steps", m.Task, i, len(own), m.Steps)
			}
			if own[0] == m.Own[(i+1)%len(m.Own)][0] {
				t.Errorf("%s: sequences %d and the next begin alike, so more than the prefix is shared", m.Task, i)
			}
		}
	}
}

func TestWorkerReportsErrors(t *testing.T) {
	var out bytes.Buffer
	if err := serve(t.Context(), "testdata/no-such-file.gguf", 1, strings.NewReader(`{"task":"prefill"}`+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.Error == "" {
		t.Errorf("answer %q, want one with an error", out.String())
	}
}
