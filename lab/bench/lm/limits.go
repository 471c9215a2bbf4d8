package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/lab/bench/harness"
)

// limits of the machine with some threads, as limits/peaks.cpp measures them.
type limits struct {
	Threads int     `json:"threads"`
	F32     float64 `json:"f32_gops"`
	Int8    float64 `json:"int8_gops"` // 0 where peaks.cpp knows no instruction for it
	Dot     string  `json:"dot"`
	Read    float64 `json:"read_gbs"`
}

// measureLimits adds to what was measured before where it finds more.
func (r *report) measureLimits(s settings) error {
	if s.compiler == "" {
		return nil
	}
	if err := os.MkdirAll(s.scratch, 0o755); err != nil {
		return err
	}
	program := filepath.Join(s.scratch, "peaks")
	build := exec.Command(s.compiler, "-O2", "-march=native", "-pthread", "-o", program, filepath.Join(s.folder, "limits", "peaks.cpp"))
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the program that measures the machine's limits (-compiler \"\" leaves it out): %w", err)
	}
	counts := []int{1}
	if s.threads > 1 {
		counts = append(counts, s.threads)
	}
	if r.Limits == nil {
		r.Limits = make([]limits, len(counts))
	}
	for i, n := range counts {
		var found limits
		if err := harness.Ask(&found, program, strconv.Itoa(n)); err != nil {
			return err
		}
		was := &r.Limits[i]
		*was = limits{n, max(was.F32, found.F32), max(was.Int8, found.Int8), found.Dot, max(was.Read, found.Read)}
		fmt.Fprintf(os.Stderr, "limits with %d threads: %.0f and %.0f Gop/s, %.1f GB/s\n", n, found.F32, found.Int8, found.Read)
	}
	return nil
}

// effort is what a task of Sotto's took.
type effort struct {
	Model, Title               string
	Operations, Bytes, Seconds float64
}

// efforts of all tasks whose work is known.
func (r *report) efforts() []effort {
	var list []effort
	add := func(model, title string, rw row, operations, bytes float64) {
		if operations > 0 {
			list = append(list, effort{model, title, operations, bytes, harness.Median(rw.Seconds[0])})
		}
	}
	for _, c := range r.Comparisons {
		for _, rw := range c.Rows {
			if len(rw.Last) > 0 {
				add(c.Model, rw.Title, rw, rw.Last[0].Operations, rw.Last[0].Bytes)
			}
		}
	}
	if c := r.Questions; c != nil {
		add(c.Model, "questions over shared prefixes", c.row, c.Operations, c.Last[0].Bytes)
	}
	if c := r.Sentences; c != nil {
		add(c.Model, "vectors of sentences", c.row, c.Operations, 0)
	}
	return list
}

// writeLimits prints the machine's limits and how near Sotto comes to them.
func (r *report) writeLimits(b *strings.Builder) {
	list := r.efforts()
	if len(r.Limits) == 0 || len(list) == 0 {
		return
	}
	b.WriteString("## How near that is to the machine's limits\n\n" +
		"The limits are measured in the same run, before and after the tasks, and the larger kept:\n" +
		"float32 multiply-adds and int8 dot products out of registers, and reading 512 MB of memory.\n\n" +
		"| threads | float32, Gop/s | int8, Gop/s | memory, GB/s |\n|---|---|---|---|\n")
	for _, l := range r.Limits {
		fmt.Fprintf(b, "| %d | %.0f | %s | %.1f |\n", l.Threads, l.F32, known(l.Int8 > 0, "%.0f (%s)", l.Int8, l.Dot), l.Read)
	}
	b.WriteString("\nOperations = 2 × weights × tokens; of the head, the rows that are asked for. Bytes = the\n" +
		"packed weights, once for each step of the engine; the head where a step asks for all of\n" +
		"it. Attention, norms and keys and values are in neither, so the machine does more than\n" +
		"is counted. A product whose activations are two int8 planes takes two int8 operations\n" +
		"for each that is counted, and so reaches half of the int8 limit at most. Weights that\n" +
		"stay in the last cache may be read faster than memory.\n\n" +
		"| Sotto | Gop/s | of float32 | of int8 | GB/s | of memory |\n|---|---|---|---|---|---|\n")
	all := r.Limits[len(r.Limits)-1]
	for _, e := range list {
		gops, gbs := e.Operations/e.Seconds/1e9, e.Bytes/e.Seconds/1e9
		fmt.Fprintf(b, "| %s, %s | %s | %.0f %% | %s | %s | %s |\n", e.Model, e.Title, number(gops), 100*gops/all.F32,
			known(all.Int8 > 0, "%.0f %%", 100*gops/all.Int8), known(gbs > 0, "%s", number(gbs)), known(gbs > 0, "%.0f %%", 100*gbs/all.Read))
	}
	b.WriteString("\n")
}

// known formats what is known.
func known(ok bool, format string, args ...any) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf(format, args...)
}
