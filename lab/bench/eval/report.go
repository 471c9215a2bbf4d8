package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lab/bench/harness"
)

// goal for the speed beside llama.cpp's server.
const goal = 3

// sideNames in the order that they take turns in.
var sideNames = []string{"Sotto, beginning shared", "Sotto, every prompt in full", "llama.cpp's server, `cache_prompt`"}

// report is what a run found.
type report struct {
	settings
	file           string
	machine        harness.Machine
	version, setup string // of the server
	prefix         int
	question       float64
	sides          [][]sideResult // by side and turn
	truth          []int          // labels that questions were made up for
}

// speeds of a side in questions a second, by turn.
func (r *report) speeds(side int) []float64 {
	var list []float64
	for _, d := range r.sides[side] {
		list = append(list, float64(r.items)/d.seconds)
	}
	return list
}

// ratios returns how many times faster Sotto is than a side, by turn.
func (r *report) ratios(side int) []float64 {
	ours, list := r.speeds(0), []float64{}
	for i, theirs := range r.speeds(side) {
		list = append(list, ours[i]/theirs)
	}
	return list
}

func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# How fast questions are answered\n\nMade by `make bench-eval` on %s; %d threads a side, %s, `%s`.\n%s", r.machine.Name, r.threads, runtime.Version(), r.file, r.machine.Idle())
	fmt.Fprintf(&b, "\n\nThe label of %d made-up news articles, four labels, %d demonstrations before each: %d tokens that all prompts begin with, and %.0f of the question on average. Every side gives the probabilities of the labels. The sides take turns, %d times each; a cell is the median and in brackets the range, a ratio the median of those of the turns.\n\n",
		r.items, r.shots, r.prefix, r.question, r.turns)
	b.WriteString("| | questions a second | tokens computed a question | Sotto is faster |\n|---|---|---|---|\n")
	for i := range r.sides {
		speeds := r.speeds(i)
		fmt.Fprintf(&b, "| %s | %.1f (%.1f–%.1f) | %.0f | %s |\n", sideNames[i], harness.Median(speeds), slices.Min(speeds), slices.Max(speeds), float64(r.sides[i][0].tokens)/float64(r.items), r.ratio(i))
	}
	b.WriteString("\nThe first row includes computing the demonstrations, the last one does not: they are in the server's cache before.\n")
	if r.setup != "" {
		how := "Its settings are the fastest of those tried before the run"
		if !r.tuned {
			how = "**Its settings were not tuned**"
		}
		fmt.Fprintf(&b, "\nllama.cpp's server is %s. %s: %s. It is asked in the way that costs it least: prompts as tokens, one token to write, the labels' tokens lifted by the same bias so that only their probabilities are sent.\n", r.version, how, r.setup)
	}
	b.WriteString("\n## The same answers\n\n| | same label as Sotto's | largest difference of a probability | right |\n|---|---|---|---|\n")
	for i := range r.sides {
		agree, apart := r.agreement(i)
		fmt.Fprintf(&b, "| %s | %.1f %% | %.2g | %.1f %% |\n", sideNames[i], 100*agree, apart, 100*r.right(i))
	}
	b.WriteString("\nThe server rounds activations to 8 bits where the file's weights are quantised; Sotto does not.\n")
	return b.String()
}

func (r *report) ratio(side int) string {
	if side == 0 {
		return ""
	}
	if side != 2 {
		return harness.Ratio(r.ratios(side), 0)
	}
	return harness.Ratio(r.ratios(side), goal)
}

// agreement of a side with the first: the share of questions with the same label, and
// how far apart probabilities are at most.
func (r *report) agreement(side int) (share, apart float64) {
	ours, theirs := r.sides[0][0], r.sides[side][0]
	labels := theirs.labels()
	same := 0
	for i, l := range ours.labels() {
		if labels[i] == l {
			same++
		}
		for j := range ours.scores[i] {
			apart = math.Max(apart, math.Abs(ours.scores[i][j]-theirs.scores[i][j]))
		}
	}
	return float64(same) / float64(len(labels)), apart
}

// right returns the share of questions that got the label they were made up for.
func (r *report) right(side int) float64 {
	n := 0
	for i, l := range r.sides[side][0].labels() {
		if l == r.truth[i] {
			n++
		}
	}
	return float64(n) / float64(len(r.truth))
}
