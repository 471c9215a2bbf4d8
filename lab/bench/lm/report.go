package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/lab/bench/harness"
)

// report is what a run found.
type report struct {
	Machine     harness.Machine
	Threads     int
	Runs        int
	Versions    [2]string // ours, the peer's
	About       string    // how the peer was built
	Repack      bool
	Comparisons []comparison
	Questions   *contest
	Sentences   *contest
	Encoder     string // sentence-transformers, its version
	// Loads are the load averages before the parts.
	Loads map[string]string
}

// comparison is one model on all sides: Sotto, llama.cpp on the same file and, for
// one model, llama.cpp on its fastest format.
type comparison struct {
	Model, File string
	Rows        []row
	Held        []float64 // peak memory by side
	Holding     task      // at what it was measured
}

type row struct {
	measure
	Seconds  [][]float64 // by side
	Settings []string
	Last     []answer // of the last turn, by side
}

func (r *report) about(ours, peer *side) error {
	for i, s := range []*side{ours, peer} {
		a, err := s.ask(task{Task: "about"})
		if err != nil {
			return err
		}
		r.Versions[i] = a.Version
		r.About = a.About
	}
	return nil
}

// figure is seconds in the unit of the measure.
func (m measure) figure(seconds float64) string {
	return fmt.Sprintf("%s %s", number(m.value(seconds)), m.Unit)
}

func (m measure) value(seconds float64) float64 {
	if m.Rate {
		return m.Per / seconds
	}
	return seconds * 1000 / m.Per
}

func number(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// cell returns a side's median and range.
func (r row) cell(side int) string {
	low, high := r.value(slices.Min(r.Seconds[side])), r.value(slices.Max(r.Seconds[side]))
	return fmt.Sprintf("%s (%s–%s)", number(r.value(harness.Median(r.Seconds[side]))), number(min(low, high)), number(max(low, high)))
}

// compared returns how many times faster a side of Sotto's is than another side.
func (r row) compared(ours, side int, goal float64) string {
	var list []float64
	for i, ours := range r.Seconds[ours] {
		list = append(list, r.Seconds[side][i]/ours)
	}
	return harness.Ratio(list, goal)
}

func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The embedded engine beside llama.cpp\n\nMade by `make bench-lm` on %s; %d threads a side, %s.\n", r.Machine.Name, r.Threads, runtime.Version())
	if r.Versions[0] != "" {
		fmt.Fprintf(&b, "Sotto's engine: %s.\n", r.Versions[0])
	}
	if r.Versions[1] != "" {
		fmt.Fprintf(&b, "llama.cpp comes from %s, built on this machine for this machine (%s).\n", r.Versions[1], r.About)
	}
	r.Machine.Load = r.busiest()
	fmt.Fprintf(&b, "%s\n\nThe sides take turns, %d times each, 3 times in tasks that take minutes; a cell is the median and in brackets the range,\n", r.Machine.Idle(), r.Runs)
	b.WriteString("a ratio the median of those of the turns: above 1, Sotto is faster. Where nothing else is\n" +
		"said, both sides are driven through their libraries, and time themselves.\n\n" +
		"- *prefill*: a prompt from nothing, and the logits after it.\n" +
		"- *decode*: 64 tokens, one at a time, each the likeliest, after a prompt of 64.\n" +
		"- *ensemble step*: one more token for each of 17 sequences of 200 tokens that share\n" +
		"  their first 100, all scores wanted of one sequence and 100 candidates of the others.\n" +
		"  llama.cpp has no way to compute some logits of a token: it gets one batch of 17\n" +
		"  tokens, computes all, and the candidates are read from them.\n" +
		"- *load*: from opening the file to a model that can be used, file in the page cache.\n\n" +
		"Sotto runs with its defaults. llama.cpp tries its settings before each task and runs\n" +
		"with the fastest found (named below).")
	if !r.Repack {
		b.WriteString(" Repacked weights were not tried.")
	}
	b.WriteString("\n\n")
	for _, c := range r.Comparisons {
		c.write(&b)
	}
	r.writeQuestions(&b)
	r.writeSentences(&b)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// busiest returns the largest load average before a part.
func (r *report) busiest() string {
	highest, at := -1., ""
	for _, load := range r.Loads {
		if x, err := strconv.ParseFloat(load, 64); err != nil || x > highest {
			highest, at = x, load
			if err != nil {
				return load // not known
			}
		}
	}
	return at
}

// peers are llama.cpp's sides of a comparison, by their place, with what their columns are called.
func (c comparison) peers() map[int]string {
	if len(c.Rows[0].Seconds) > fastest {
		return map[int]string{samefile: "same file", fastest: "Q8_0 copy"}
	}
	return map[int]string{samefile: "same file"}
}

func (c comparison) write(b *strings.Builder) {
	fmt.Fprintf(b, "## %s\n\n`%s`\n\n", c.Model, c.File)
	b.WriteString("| | Sotto, 16 bits | Sotto, 8 bits |")
	places := slices.Sorted(maps.Keys(c.peers()))
	for _, side := range places {
		fmt.Fprintf(b, " llama.cpp, %s | ratio, 16 bits | ratio, 8 bits |", c.peers()[side])
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|---|---|", len(places)) + "\n")
	for _, r := range c.Rows {
		fmt.Fprintf(b, "| %s, %s | %s | %s |", r.Title, r.Unit, r.cell(oursWide), r.cell(oursNarrow))
		for _, side := range places {
			goal := r.Goal
			if side == fastest {
				goal = r.Best
			}
			fmt.Fprintf(b, " %s | %s | %s |", r.cell(side), r.compared(oursWide, side, 0), r.compared(oursNarrow, side, goal))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nllama.cpp's settings:")
	for _, r := range c.Rows {
		for _, side := range places {
			if r.Settings[side] != "" {
				fmt.Fprintf(b, " %s on the %s: %s.", r.Task, c.peers()[side], r.Settings[side])
			}
		}
	}
	b.WriteString("\n\n")
	if len(c.Held) > samefile {
		fmt.Fprintf(b, "Peak memory of a process with %d sequences of %d own tokens over a shared prefix of %d: Sotto %.0f MB", len(c.Holding.Own), len(c.Holding.Own[0]), len(c.Holding.Prefix), c.Held[oursWide])
		if len(c.Held) > fastest {
			b.WriteString(" (goal: under 600)")
		}
		fmt.Fprintf(b, ", with 8 bits %.0f MB, llama.cpp %.0f MB", c.Held[oursNarrow], c.Held[samefile])
		if len(c.Held) > fastest {
			fmt.Fprintf(b, ", on its Q8_0 copy %.0f MB", c.Held[fastest])
		}
		b.WriteString(".\n\n")
	}
}

func (r *report) writeQuestions(b *strings.Builder) {
	c := r.Questions
	if c == nil {
		return
	}
	fmt.Fprintf(b, "## Questions over shared prefixes\n\n%d questions of %d tokens, %d after each of %d prefixes of %d tokens, on %s: the work of\n", len(c.Own), len(c.Own[0]), len(c.Own)/len(c.Prefixes), len(c.Prefixes), len(c.Prefixes[0]), c.Model)
	fmt.Fprintf(b, "choosing by the records. Each side gives the probabilities of %d candidate tokens after\neach question, from nothing: the prefixes are in the time. %d turns.\n\n", len(c.Candidates), len(c.Seconds[0]))
	b.WriteString("| | " + c.Unit + " | tokens computed | same best candidate | peak memory, MB | Sotto is faster, 16 bits | 8 bits |\n|---|---|---|---|---|---|---|\n")
	for i, name := range c.Names {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", name, c.cell(i), known(c.Computed[i] > 0, "%d", c.Computed[i]),
			known(i > 0, "%.1f %%", 100*c.sameBest(i)), known(c.Peaks[i] > 0, "%.0f", c.Peaks[i]), c.faster(i))
	}
	fmt.Fprintf(b, "\nSotto is one process with its defaults: the prefixes in one step, then forks of them, as\nmany questions in a step as choosing by the records takes. ")
	b.WriteString("llama.cpp's library gets each prefix once, copies it to as many\n" +
		"sequences as fit a batch, and takes the batch of their questions in one call.\n\nThe fastest settings found:")
	c.writeSettings(b)
}

func (r *report) writeSentences(b *strings.Builder) {
	c := r.Sentences
	if c == nil {
		return
	}
	fmt.Fprintf(b, "## Vectors of sentences\n\n%d made-up sentences of %d to %d words, %d tokens in all, with %s. The peer is\n%s, on processors alone.\n\n", len(c.Texts), sentenceMin, sentenceMax, c.Computed[1], c.Model, r.Encoder)
	b.WriteString("| | " + c.Unit + " | least cosine with Sotto's | peak memory, MB | Sotto is faster |\n|---|---|---|---|---|\n")
	for i, name := range c.Names {
		cell := c.cell(i)
		if i == 0 {
			cell += fmt.Sprintf(", goal %d: %s", sentenceGoal, harness.Met(c.value(harness.Median(c.Seconds[0])) >= sentenceGoal))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", name, cell, known(i > 0, "%.6f", c.minCosine(i)), known(c.Peaks[i] > 0, "%.0f", c.Peaks[i]), c.faster(i))
	}
	b.WriteString("\nThe peer's peak memory includes the settings that it tried. The fastest found:")
	c.writeSettings(b)
}

// faster returns how many times faster Sotto's first side is than another, and its second than that.
func (c *contest) faster(side int) string {
	if side < c.Ours {
		return strings.Repeat(" | ", c.Ours-1)
	}
	if c.Ours == 1 {
		return c.compared(0, side, c.Goals[side])
	}
	return c.compared(oursWide, side, 0) + " | " + c.compared(oursNarrow, side, c.Goals[side])
}

func (c *contest) writeSettings(b *strings.Builder) {
	for i, s := range c.Settings {
		if s != "" {
			fmt.Fprintf(b, " %s: %s.", c.Names[i], s)
		}
	}
	b.WriteString("\n\n")
}

// known formats what is known.
func known(ok bool, format string, args ...any) string {
	if !ok {
		return "–"
	}
	return fmt.Sprintf(format, args...)
}
