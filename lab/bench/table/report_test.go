package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/bench/harness"
)

// TestReport: goals that are met and missed are told as such, and a busy machine too.
func TestReport(t *testing.T) {
	r := &report{
		settings: settings{rows: 10_000_000, repeat: 3}, machine: harness.Machine{Name: "a machine", Load: "0.10"},
		profile: profiles{
			groups: 4, collect: time.Second, hash: time.Second / 10,
			duckdb: map[string]float64{"apart": 2, "sets": 3, "sums": 1}, diffprivlib: map[string]float64{"read": 1, "private": 25},
		},
		perturb: perturbSpeed{rows: 10_000_000, columns: 8, took: 2 * time.Second},
		joint:   []solveTime{{axes: 12, columns: 12, largest: 2, inverse: time.Millisecond, step: time.Millisecond, solve: 0.5}},
	}
	text := r.text()
	for _, want := range []string{
		"10,000,000 rows × 14", "within 3× of DuckDB: met (0.50×)", "20× as fast as diffprivlib: met (26.0×)",
		"40 million values a second", "1000× as fast as the dense solve at the largest size tried (2^12 cells, a matrix of 0.1 GB): missed (500×)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "not idle") {
		t.Error("an idle machine is called busy")
	}
	r.machine.Load, r.profile.collect = "3.5", 7*time.Second
	text = r.text()
	at := expect.At(t, "a busy machine and missed goals are not told")
	expect.Contains(at, "text", text, "not idle")
	expect.Contains(at, "text", text, "DuckDB: missed (3.50×)")
	expect.Contains(at, "text", text, "diffprivlib: missed (3.7×)")
}
