package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/bench/harness"
	"github.com/sotto-dp/sotto/lm"
)

func TestRatioIsTheMedianOverTurns(t *testing.T) {
	r := row{measure: measure{Per: 10, Rate: true}, Seconds: [][]float64{{1, 2, 4}, {2, 10, 4}}}
	if got, want := r.compared(0, 1, 0), "**2.00×** (1.00–5.00)"; got != want {
		t.Errorf("ratio %q, want %q", got, want)
	}
	if got, want := r.cell(0), "5.00 (2.50–10.0)"; got != want {
		t.Errorf("cell %q, want %q", got, want)
	}
}

func TestMissedGoalIsSaid(t *testing.T) {
	r := row{Seconds: [][]float64{{1, 1, 1}, {2, 2, 2}, {3, 3, 3}}}
	if got := r.compared(0, 2, 5); !strings.Contains(got, "missed") {
		t.Errorf("%q does not say that the goal was missed", got)
	}
	if got := r.compared(0, 2, 3); strings.Contains(got, "missed") {
		t.Errorf("%q says that a goal which was reached was missed", got)
	}
}

func TestBusyMachineIsSaid(t *testing.T) {
	for load, want := range map[string]bool{"0.10": false, "2.50": true, "unknown": true} {
		r := report{Loads: map[string]string{"a": "0.05", "b": load}}
		if got := strings.Contains(r.text(), "not idle"); got != want {
			t.Errorf("load %s: warned %v, want %v", load, got, want)
		}
	}
}

// TestPartsAreKept: what was measured comes back as it was, so that parts can be measured at
// other times.
func TestPartsAreKept(t *testing.T) {
	s := settings{scratch: t.TempDir(), parts: []string{"b"}}
	r, err := s.begin()
	if err != nil {
		t.Fatal(err)
	}
	made := row{measure: measures()[0], Seconds: [][]float64{{1, 2, 3}, {1, 1, 2}, {2, 4, 6}}, Settings: []string{"", "", "flash"}, Last: []answer{{}, {}, {}}}
	fill := func() error {
		r.Comparisons = []comparison{{Model: "b", File: "b.gguf", Rows: []row{made}, Held: []float64{1, 1, 2}, Holding: held(true)}}
		r.Questions = &contest{row: row{measure: questionTask(16), Seconds: made.Seconds, Settings: made.Settings, Last: made.Last}, Names: []string{"x", "x8", "y"}, Ours: 2, Goals: []float64{0, 0, 8}, Computed: []int64{1, 1, 2}, Peaks: []float64{1, 1, 2}}
		return nil
	}
	if err := r.part(s, "b", fill); err != nil {
		t.Fatal(err)
	}
	if err := r.part(s, "a", func() error { t.Error("another part was measured"); return nil }); err != nil {
		t.Fatal(err)
	}
	again, err := s.begin()
	if err != nil {
		t.Fatal(err)
	}
	if again.text() != r.text() || !strings.Contains(again.text(), "flash") {
		t.Errorf("%s\nbecame\n%s", r.text(), again.text())
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
	for _, m := range append(measures(), questionTask(questionCount)) {
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

// sample is a small report with all its parts.
func sample() *report {
	r := &report{Machine: harness.Machine{Name: "a machine"}, Loads: map[string]string{"small": "0.10"}, Threads: 2, Runs: 3, Repack: true}
	r.Versions, r.About = [2]string{"v1", "llama-cpp-python 1"}, "AVX2 = 1"
	r.Encoder = "sentence-transformers 1"
	prefill := measure{task: task{Task: "prefill"}, Title: "prefill of 4 tokens", Per: 4, Rate: true, Unit: "tokens/s", Goal: 6, Best: 3}
	r.Comparisons = []comparison{{
		Model: "small", File: "small.gguf", Held: []float64{500, 490, 400, 450}, Holding: held(false),
		Rows: []row{{
			measure: prefill, Seconds: [][]float64{{1, 1, 1}, {0.5, 0.5, 0.5}, {7, 6, 8}, {2, 2, 2}}, Settings: []string{"", "", "plain", "flash"},
			Last: []answer{{}, {}, {}, {}},
		}},
	}}
	r.Questions = &contest{
		Model: "small", Names: []string{"Sotto, 16 bits", "Sotto, 8 bits", "server"}, Ours: 2, Goals: []float64{0, 0, 8}, Computed: []int64{30, 30, 44}, Peaks: []float64{300, 290, 0},
		row: row{
			measure: measure{task: task{Prefixes: make([][]lm.Token, 1), Own: [][]lm.Token{{1}, {2}}, Candidates: []lm.Token{7, 8}}, Per: 2, Rate: true, Unit: "questions/s"},
			Seconds: [][]float64{{2, 2, 2}, {1, 1, 1}, {20, 18, 22}}, Settings: []string{"", "", "8 slots"},
			Last: []answer{{Values: [][]float64{{0.9, 0.1}, {0.2, 0.8}}}, {Values: [][]float64{{0.9, 0.1}, {0.2, 0.8}}}, {Values: [][]float64{{0.7, 0.3}, {0.6, 0.4}}}},
		},
	}
	r.Sentences = &contest{
		Model: "encoder", Names: []string{"Sotto", "peer"}, Ours: 1, Goals: []float64{0, 3}, Computed: []int64{0, 60}, Peaks: []float64{100, 900},
		row: row{
			measure: measure{task: task{Texts: []string{"a", "b"}}, Per: 2, Rate: true, Unit: "sentences/s"},
			Seconds: [][]float64{{0.002, 0.002, 0.004}, {0.004, 0.004, 0.008}}, Settings: []string{"", "batches of 8"},
			Last: []answer{{Values: [][]float64{{1, 0}}}, {Values: [][]float64{{0.8, 0.6}}}},
		},
	}
	return r
}

func TestReport(t *testing.T) {
	text := sample().text()
	for _, want := range []string{
		"| prefill of 4 tokens, tokens/s | 4.00 (4.00–4.00) | 8.00 (8.00–8.00) | 0.57 (0.50–0.67) | **7.00×** (6.00–8.00) | **14.00×** (12.00–16.00), goal 6× | 2.00 (2.00–2.00) | **2.00×** (2.00–2.00) | **4.00×** (4.00–4.00), goal 3× |",
		"prefill on the same file: plain. prefill on the Q8_0 copy: flash.",
		"64 sequences of 100 own tokens over a shared prefix of 400: Sotto 500 MB (goal: under 600), with 8 bits 490 MB, llama.cpp 400 MB, on its Q8_0 copy 450 MB.",
		"| Sotto, 16 bits | 1.00 (1.00–1.00) | 30 | – | 300 |  |  |",
		"| server | 0.10 (0.09–0.11) | 44 | 50.0 % | – | **10.00×** (9.00–11.00) | **20.00×** (18.00–22.00), goal 8× |",
		"| Sotto | 1000 (500–1000), goal 1000: met | – | 100 |  |",
		"| peer | 500 (250–500) | 0.800000 | 900 | **2.00×** (2.00–2.00), goal 3×: missed |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	r := sample()
	r.Questions, r.Sentences = nil, nil
	if text := r.text(); strings.Contains(text, "Questions") || strings.Contains(text, "Vectors") {
		t.Errorf("what was left out is reported:\n%s", text)
	}
}

func TestSentences(t *testing.T) {
	list := sentences(sentenceCount)
	seen := map[string]bool{}
	lengths := map[int]bool{}
	for _, s := range list {
		n := len(strings.Fields(s))
		at := expect.At(t, "%q", s)
		expect.Within(at, "n", n, sentenceMin, sentenceMax)
		expect.True(at, "s ends with .", strings.HasSuffix(s, "."), s)
		seen[s], lengths[n] = true, true
	}
	if len(seen) != sentenceCount || len(lengths) != sentenceMax-sentenceMin+1 {
		t.Errorf("%d different sentences of %d lengths", len(seen), len(lengths))
	}
}

func TestWorkerReportsErrors(t *testing.T) {
	var out bytes.Buffer
	if err := serve(t.Context(), "testdata/no-such-file.gguf", 1, wide, strings.NewReader(`{"task":"prefill"}`+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.Error == "" {
		t.Errorf("answer %q, want one with an error", out.String())
	}
}
