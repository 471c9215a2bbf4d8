package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lab/bench/harness"
)

// goal for the time of a draw an answer beside a draw a token as published.
const goal = 20

// report is what a run found.
type report struct {
	settings
	model   string
	machine harness.Machine
	tables  []*table
}

func (r *report) text() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# What an answer from private records costs\n\nMade by `make bench-answer` on %s; %s, `%s`.\n%s", r.machine.Name, runtime.Version(), r.model, r.machine.Idle())
	fmt.Fprintf(&b, `

Every side answers the same questions with the same engine, and costs ε = %g for %s together. A draw an answer keeps its prompts in the model's cache; a draw a token has new prompts for each. "As published" computes every prompt of every token in full, one at a time, as the paper's program does; for `+"`mixing`"+` it writes the same answers as with caches, which the run checks. `+"`mixing`"+` draws %d records on average, as the paper does, `+"`clipped`"+` its default number; `+"`sotto answer`"+` takes `+"`%s`"+` by default.

Times are about %s, one after the other; the sides take turns on each, and all write as many tokens as the right answer has. Seconds are those of a whole answer: draw, reading the drawn records, model, choice. Ratios are to the same method as published, of the sums, in brackets the range over questions. ROUGE-L (F1, times 100) is computed on answers to %s, which end where they end, %s each, with its 95 %% interval.
`, r.epsilon, many(int(r.answers), "answer"), r.shots, plan.DefaultWriter, many(r.timed, "question"), many(r.items, "question"), many(r.seeds, "time"))
	for _, t := range r.tables {
		if err := t.write(&b); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (t *table) write(b *strings.Builder) error {
	fmt.Fprintf(b, "\n## %s: %d records, answers of up to %d tokens\n\n", t.title(), t.size, t.plans[0].Tokens)
	b.WriteString("| | settings | seconds an answer | of that choosing | model tokens | tokens written | less time | fewer tokens | ROUGE-L |\n|---|---|---|---|---|---|---|---|---|\n")
	for i, s := range sides {
		sum, n := t.sum(i), float64(len(t.costs[i]))
		fmt.Fprintf(b, "| %s | %s | %.2f | %.2f %% | %.0f | %.1f ", s.name, describe(t.plans[i].Write), sum.seconds/n, 100*sum.picking/sum.seconds, float64(sum.tokens)/n, float64(sum.steps)/n)
		if s.published {
			b.WriteString("| | | |\n")
			continue
		}
		quality, err := quality(t.scores[i])
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", t.ratio(i, seconds), t.ratio(i, tokens), quality)
	}
	return t.conclusion(b)
}

// title of a data set.
func (t *table) title() string {
	if t.name == made {
		return "Made-up chats"
	}
	return t.name
}

// describe lists a method's settings.
func describe(m decode.Settings) string {
	switch m := m.Method.(type) {
	case *decode.Clipped:
		return fmt.Sprintf("B = %g, C = %.2f, τ = %g", m.Expected, m.Clip(), m.Temperature)
	case *decode.Mixing:
		return fmt.Sprintf("n̄ = %g, c = %.3f, τ = %g", m.Expected, m.Range, m.Temperature)
	}
	return ""
}

// sum of a side's costs.
func (t *table) sum(side int) cost {
	var sum cost
	for _, c := range t.costs[side] {
		sum.seconds += c.seconds
		sum.picking += c.picking
		sum.tokens += c.tokens
		sum.steps += c.steps
	}
	return sum
}

func seconds(c cost) float64 { return c.seconds }
func tokens(c cost) float64  { return float64(c.tokens) }

// ratio of what answers as published need to what a side does: of the sums, and by
// question.
func (t *table) ratio(side int, of func(cost) float64) string {
	var each []float64
	for q, c := range t.costs[side] {
		each = append(each, of(t.costs[sides[side].against][q])/of(c))
	}
	return fmt.Sprintf("**%.1f×** (%.1f–%.1f)", t.overall(side, sides[side].against, of), slices.Min(each), slices.Max(each))
}

// overall returns how many times more one side needs than another.
func (t *table) overall(side, than int, of func(cost) float64) float64 {
	return of(t.sum(than)) / of(t.sum(side))
}

func quality(scores [][]float64) (string, error) {
	interval, err := stat.Crossed(scores, stat.Options{})
	if err != nil {
		return "", err
	}
	interval = interval.Within(0, 100)
	return fmt.Sprintf("%.1f (%.1f–%.1f)", stat.Mean(slices.Concat(scores...)), interval.Low, interval.High), nil
}

// conclusion reports whether the goal is met.
func (t *table) conclusion(b *strings.Builder) error {
	for i, s := range sides {
		if s.per != scheme.PerText {
			continue
		}
		less := t.overall(i, s.against, seconds)
		c, err := stat.Compare(stat.Options{}, stat.PairedScores{A: t.scores[i], B: t.scores[mixingToken]})
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "\n%s: %.1f× less time than as published (goal %d×: %s)", s.name, less, goal, harness.Met(less >= goal))
		if s.against != mixingPublished {
			fmt.Fprintf(b, ", and %.1f× less than `mixing` as published", t.overall(i, mixingPublished, seconds))
		}
		fmt.Fprintf(b, "; ROUGE-L higher by %.1f (95 %% interval %.1f to %.1f) than that of `mixing` with a draw a token.\n", c.Difference, c.Interval.Low, c.Interval.High)
	}
	return nil
}
