package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/harness"
)

// Goals: how many times as fast as diffprivlib a profile is to be, and at most how many
// times DuckDB's time it may take; and how many times as fast as a dense solve.
const (
	goalDiffprivlib = 20
	goalDuckDB      = 3
	goalDense       = 1000
)

// report is what a run found.
type report struct {
	settings
	machine harness.Machine
	profile profiles
	perturb perturbSpeed
	joint   []solveTime
}

func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What private tables cost\n\nMade by `make bench-table` on %s; %s.\n%s\n\n", r.machine.Name, runtime.Version(), r.machine.Idle())
	r.writeProfile(&b)
	r.writePerturb(&b)
	r.writeJoint(&b)
	return b.String()
}

func (r *report) writeProfile(b *strings.Builder) {
	p := r.profile
	ours := p.collect.Seconds()
	apart := p.duckdb["apart"]
	floor := min(apart, p.duckdb["sets"])
	theirs := p.diffprivlib["read"] + p.diffprivlib["private"]
	fmt.Fprintf(b, `## Profile of %s rows × 14 columns

Six averages and six histograms for each of %d groups, from a Parquet file of %.0f MB (snappy,
dictionaries for texts) as pyarrow writes it; the best of %d. DuckDB adds up the same without
any privacy, in one query a histogram or in one with grouping sets; the faster one is the
floor. The run checks that both found the same counts and averages. diffprivlib has mean and histogram of each group's array; pyarrow reads the file for it.

| | seconds | beside ours |
|---|---|---|
| sotto, from file to noisy profile | %.2f | |
| sotto, fingerprint of the file for the ledger, apart | %.2f | |
| DuckDB, one query a histogram | %.2f | %.2f× |
| DuckDB, grouping sets | %.2f | %.2f× |
| DuckDB, the averages alone | %.2f | %.2f× |
| diffprivlib with reading | %.2f | %.1f× |
| diffprivlib, arrays in memory | %.2f | %.1f× |

`, thousands(r.rows), p.groups, p.megabytes, r.repeat, ours, p.hash.Seconds(),
		apart, apart/ours, p.duckdb["sets"], p.duckdb["sets"]/ours, p.duckdb["sums"], p.duckdb["sums"]/ours,
		theirs, theirs/ours, p.diffprivlib["private"], p.diffprivlib["private"]/ours)
	fmt.Fprintf(b, "Goal: within %d× of DuckDB: %s (%.2f×). Goal: %d× as fast as diffprivlib: %s (%.1f×).\n\n",
		goalDuckDB, harness.Met(ours <= goalDuckDB*floor), ours/floor, goalDiffprivlib, harness.Met(theirs >= goalDiffprivlib*ours), theirs/ours)
}

func (r *report) writePerturb(b *strings.Builder) {
	p := r.perturb
	values := float64(p.rows) * float64(p.columns)
	fmt.Fprintf(b, "## Perturbing\n\n%s rows of %d columns by randomised response, in memory, one thread: %.2f s, %.0f million values a second.\n\n",
		thousands(p.rows), p.columns, p.took.Seconds(), values/p.took.Seconds()/1e6)
}

func (r *report) writeJoint(b *strings.Builder) {
	b.WriteString(`## Reconstructing

The estimate by the inverse, with its projection to the simplex, and one step of the
iterative Bayesian update. numpy solves with the whole Kronecker matrix (built before, not
counted). Nanoseconds are for a cell and a column of two values: a straight line in both
would keep them constant.

| cells | columns | inverse | ns a cell and column | one step of IBU | ns | dense solve | beside ours |
|---|---|---|---|---|---|---|---|
`)
	var largest solveTime
	for _, s := range r.joint {
		cells := float64(int64(1) << s.axes)
		per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / cells / float64(s.columns) }
		dense, ratio := "", ""
		if s.solve > 0 {
			dense, ratio = fmt.Sprintf("%.2f s", s.solve), fmt.Sprintf("%.0f×", s.solve/s.inverse.Seconds())
			largest = s
		}
		fmt.Fprintf(b, "| 2^%d | %d of %d values | %s | %.1f | %s | %.1f | %s | %s |\n",
			s.axes, s.columns, s.largest, milliseconds(s.inverse), per(s.inverse), milliseconds(s.step), per(s.step), dense, ratio)
	}
	if largest.solve > 0 {
		ratio := largest.solve / largest.inverse.Seconds()
		fmt.Fprintf(b, "\nGoal: %d× as fast as the dense solve at the largest size tried (2^%d cells, a matrix of %.1f GB): %s (%.0f×).\n",
			goalDense, largest.axes, 8*float64(int64(1)<<(2*largest.axes))/1e9, harness.Met(ratio >= goalDense), ratio)
	}
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000)
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
