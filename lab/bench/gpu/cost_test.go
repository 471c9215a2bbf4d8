package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const measuredExample = `{"date": "2026-01-02", "device": "a GPU", "torch": "2", "dtype": "bfloat16",
"ceilings": {"tflops": 800, "gigabytes_a_second": 4300},
"rows": [
 {"model": "m", "parameters": 1000000000, "work": "choose", "unit": "questions", "units": 4000, "tokens": 120000, "seconds": 0.5, "min": 0.4, "max": 0.6, "repeats": 5},
 {"model": "m", "parameters": 1000000000, "work": "clipped", "unit": "texts", "units": 2, "tokens": 6000, "seconds": 4, "min": 4, "max": 4, "repeats": 2}
]}`

// TestCost computes by hand what is printed: a million questions are 125 s, a million texts
// 2 million seconds.
func TestCost(t *testing.T) {
	m, err := readMeasured([]byte(measuredExample))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	m.print(&out, 3.6, "EUR")
	for _, want := range []string{
		"PRICE=3.6", "2026-01-02", "## m, 1 billion parameters", "800 TFLOP/s", "4.30 TB/s",
		"| choose | 0.5 (0.4–0.6) | 240 000 | 60 % | 8 000 questions | 2.08 min | 0.12 EUR |",
		"| clipped | 4 (4–4) | 1 500 | 0.375 % | 0.5 texts | 556 h | 2 000 EUR |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	for _, broken := range []string{`{}`, `{"rows": [{"model": "m", "units": 0, "tokens": 1, "seconds": 1, "unit": "texts"}]}`, strings.Replace(measuredExample, "0.5", "0", 1), `{"guess": 1}`} {
		if _, err := readMeasured([]byte(broken)); err == nil {
			t.Errorf("%s was taken", broken)
		}
	}
}

// TestCostMeasures runs the script where there is a PyTorch, on a tiny model, and prints
// what it wrote.
func TestCostMeasures(t *testing.T) {
	python := os.Getenv("SOTTO_TORCH")
	if python == "" {
		t.Skip("SOTTO_TORCH names no Python with PyTorch")
	}
	path := filepath.Join(t.TempDir(), "measured.json")
	cmd := exec.Command(python, "cost.py", "--small", "--models", "tiny", "--device", "cpu", "--cache", "0.01", "--out", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := readMeasured(data)
	if err != nil {
		t.Fatal(err)
	}
	// Tokens that are computed, by hand: texts have 4 prompts of 7 tokens and then two more each.
	tokens := map[string]int64{}
	for _, r := range m.Rows {
		tokens[strings.SplitN(r.Work, ",", 2)[0]] = r.Tokens
	}
	for work, want := range map[string]int64{
		"prefill of 2 prompts of 20 tokens": 40, "decode": 3, "choose: 6 questions of 5 tokens over 2 prefixes of 21": 30,
		"clipped: 1 text at once": 4 * 9, "clipped: 2 texts at once": 8 * 9, "vote: 2 answers at once": 8 * 12,
	} {
		if tokens[work] != want {
			got, _ := json.Marshal(tokens)
			t.Errorf("%s: %d tokens were computed, not %d: %s", work, tokens[work], want, got)
		}
	}
	var out bytes.Buffer
	m.print(&out, 2, "USD")
	if strings.Contains(out.String(), "TFLOP") || !strings.Contains(out.String(), "## tiny") {
		t.Error(out.String())
	}
}
