package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"sotto/eval/stat"
	"sotto/private/decode"
)

// busy is the load average from which on a run says that it is not to be trusted.
const busy = 0.7

// goal for the time of a draw an answer beside a draw a token as published.
const goal = 20

// report is what a run found.
type report struct {
	settings
	model, machine, load string
	tables               []*table
}

func newReport(s settings, model string) *report {
	load, _, _ := strings.Cut(readFirst("/proc/loadavg", ""), " ")
	return &report{
		settings: s, model: model, load: load,
		machine: fmt.Sprintf("%s, %s/%s, %d processors", readFirst("/proc/cpuinfo", "model name"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
	}
}

// readFirst is the first line of a file, or the value of the first line that begins
// with a key.
func readFirst(path, key string) string {
	raw, _ := os.ReadFile(path)
	for line := range strings.Lines(string(raw)) {
		if key == "" {
			return strings.TrimSpace(line)
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func (r *report) idle() bool {
	load, err := strconv.ParseFloat(r.load, 64)
	return err == nil && load <= busy
}

func (r *report) text() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# What an answer from private records costs\n\nMade by `make bench-answer` on %s; %s, `%s`.\nLoad average before the run: %s.", r.machine, runtime.Version(), r.model, r.load)
	if !r.idle() {
		b.WriteString(" **The machine was not idle, or this is not known: do not quote these times.**")
	}
	fmt.Fprintf(&b, `

Every side answers the same questions with the same engine, and costs ε = %g for %d answers together. A draw an answer keeps its prompts in the model's cache; a draw a token has new prompts for each. "As published" computes every prompt of every token in full, one at a time, as the paper's program does; it writes the same answers as the row above it, which the run checks, and is measured on the first %d questions.

Seconds are those of a whole answer: draw, reading the drawn records, model, choice. Sides take turns on each question. Times, tokens and ratios are about the first %d questions: the ratio of the sums, in brackets the range over questions. ROUGE-L (F1, times 100) is about all %d, answered %s, with its 95 %% interval.
`, r.epsilon, r.answers, r.timed, r.timed, r.items, times(r.seeds))
	for _, t := range r.tables {
		if err := r.table(&b, t); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (r *report) table(b *strings.Builder, t *table) error {
	fmt.Fprintf(b, "\n## %s: %d records, answers of up to %d tokens\n\n", t.title(), t.size, t.plans[ours].Tokens)
	b.WriteString("| | settings | seconds an answer | of that choosing | model tokens | tokens written | less time | fewer tokens | ROUGE-L |\n|---|---|---|---|---|---|---|---|---|\n")
	for i, s := range sides {
		m := r.mean(t, i)
		fmt.Fprintf(b, "| %s | %s | %.2f | %.2f %% | %.0f | %.1f ", s.name, describe(t.plans[i].Write), m.seconds, 100*m.picking/m.seconds, float64(m.tokens)/float64(r.timed), float64(m.steps)/float64(r.timed))
		if i == asPublished {
			b.WriteString("| | | as above |\n")
			continue
		}
		quality, err := quality(t.scores(i))
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", r.ratio(t, i, seconds), r.ratio(t, i, tokens), quality)
	}
	return r.verdict(b, t)
}

// title of a data set.
func (t *table) title() string {
	if t.name == made {
		return "Made-up chats"
	}
	return t.name
}

// describe tells a method's settings.
func describe(m decode.Settings) string {
	switch m := m.Method.(type) {
	case *decode.Clipped:
		return fmt.Sprintf("B = %g, C = %.2f, τ = %g", m.Expected, m.Clip(), m.Temperature)
	case *decode.Mixing:
		return fmt.Sprintf("n̄ = %g, c = %.3f, τ = %g", m.Expected, m.Range, m.Temperature)
	}
	return ""
}

// mean of the timed answers: seconds are those of one, tokens and steps of all.
func (r *report) mean(t *table, side int) done {
	var sum done
	for _, a := range t.answers[side][0][:r.timed] {
		sum.seconds += a.seconds / float64(r.timed)
		sum.picking += a.picking / float64(r.timed)
		sum.tokens += a.tokens
		sum.steps += a.steps
	}
	return sum
}

func seconds(a done) float64 { return a.seconds }
func tokens(a done) float64  { return float64(a.tokens) }

// ratios of what answers as published need to what a side does: of the sums, and by
// question.
func (r *report) ratios(t *table, side int, of func(done) float64) (float64, []float64) {
	var above, below float64
	var each []float64
	for q, a := range t.answers[side][0][:r.timed] {
		p := of(t.answers[asPublished][0][q])
		above, below = above+p, below+of(a)
		each = append(each, p/of(a))
	}
	return above / below, each
}

func (r *report) ratio(t *table, side int, of func(done) float64) string {
	all, each := r.ratios(t, side, of)
	return fmt.Sprintf("**%.1f×** (%.1f–%.1f)", all, slices.Min(each), slices.Max(each))
}

// scores by seed and question, in percent.
func (t *table) scores(side int) [][]float64 {
	var all [][]float64
	for _, seed := range t.answers[side] {
		var list []float64
		for _, a := range seed {
			list = append(list, 100*a.rouge)
		}
		all = append(all, list)
	}
	return all
}

func quality(scores [][]float64) (string, error) {
	interval, err := stat.Crossed(scores, stat.Options{})
	if err != nil {
		return "", err
	}
	interval = interval.Within(0, 100)
	return fmt.Sprintf("%.1f (%.1f–%.1f)", stat.Mean(slices.Concat(scores...)), interval.Low, interval.High), nil
}

// verdict says whether the goal is met.
func (r *report) verdict(b *strings.Builder, t *table) error {
	for _, i := range []int{ours, clipped} {
		less, _ := r.ratios(t, i, seconds)
		c, err := stat.Compare(stat.Options{}, stat.Paired{A: t.scores(i), B: t.scores(perToken)})
		if err != nil {
			return err
		}
		met := "met"
		if less < goal {
			met = "missed"
		}
		fmt.Fprintf(b, "\n%s: %.1f× less time than as published (goal %d×: %s); ROUGE-L higher by %.1f (95 %% interval %.1f to %.1f).\n", sides[i].name, less, goal, met, c.Difference, c.Interval.Low, c.Interval.High)
	}
	return nil
}
