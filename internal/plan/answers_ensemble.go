package plan

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/privacy"
)

// ensemble fills in a method so that all answers together cost at most ε.
func (r *Request) ensemble(a Answers) (ensemble.Method, error) {
	return method.Plan[ensemble.Method](r.Method, method.Answers, r.ask(a.texts(), Part{Size: a.Size, Texts: a.Answers}, func(m method.Method) privacy.Event {
		return privacy.Canonical(privacy.Repeat{N: a.Answers, Event: m.(ensemble.Method).Event()})
	}))
}

// checkEnsemble is [Answers.Check] where whole answers become one.
func (a Answers) checkEnsemble() error {
	if a.Tokens < 1 {
		return fmt.Errorf("a plan of answers needs tokens")
	}
	if err := a.Ensemble.Check(); err != nil {
		return err
	}
	if err := a.Ensemble.Serves(a.Task); err != nil {
		return err
	}
	if sampling := a.Scheme(); sampling.Adjacency() != a.Adjacency {
		return fmt.Errorf("the plan is under %s adjacency, and its draws under %s", a.Adjacency, sampling.Adjacency())
	}
	return privacy.Validate(a.Event())
}

// ensembleWarnings are about noise that drowns what prompts say.
func (a Answers) ensembleWarnings() []string {
	prompts, _, _ := occupancy(a.Scheme(), a.Size)
	if !a.Ensemble.Loud(prompts) {
		return nil
	}
	together := ""
	if a.Answers > 1 {
		together = fmt.Sprintf(" for %d answers", a.Answers)
	}
	return []string{fmt.Sprintf("ε = %v%s leaves noise that all %.0f prompts together do not stand out of: ask for a larger ε, fewer answers, or more prompts", a.Epsilon, together, prompts)}
}

// drawsOf says how many records are drawn for an answer.
func drawsOf(sampling scheme.Scheme, size int64) string {
	n := math.Round(sampling.Expected(size))
	records := fmt.Sprintf("%.0f", n)
	if sampling.Prompts > 0 && math.Mod(n, float64(sampling.Prompts)) == 0 {
		records = fmt.Sprintf("%d × %.0f", sampling.Prompts, n/float64(sampling.Prompts))
	}
	if sampling.Per == scheme.PerToken {
		return "twice " + records + " a text"
	}
	return records + " a text"
}

// ensembleCost predicts the work of one answer: of all prompts in full, and where answers
// are written, of their tokens and of the public ones.
func (a Answers) ensembleCost(s Shape, v Speed) Cost {
	prompts, filled, records := occupancy(a.Scheme(), a.Size)
	return a.ensembleWork(prompts, filled, records, s, v)
}

// ensembleWork is the work of an answer from so many prompts and records.
func (a Answers) ensembleWork(prompts, filled, records float64, s Shape, v Speed) Cost {
	instruction, steps := float64(s.Instruction), float64(a.Tokens)
	work := a.Ensemble.Work()
	if !work.Writes {
		steps = 0
	}
	ask := s.Head + float64(work.ContentFree)*math.Max(0, s.Head-float64(a.Task.Limits.InputTokens))
	looks, public := float64(work.Looks), float64(work.Public)
	c := Cost{Sequences: 1 + filled}
	opening := instruction + ask + looks*(records*s.Record+filled*ask)
	written := math.Max(0, steps-1)
	c.Cached.Tokens = opening + written*(filled+public)
	c.Cached.Seconds = v.read(opening)
	if written > 0 {
		c.Cached.Seconds += v.decode(written, math.Max(1, filled)) + v.decode(written, math.Max(1, public))
	}
	passes := math.Max(1, steps)
	tails := passes * (passes - 1) / 2
	c.Uncached.Tokens = (math.Max(1, public)+looks*prompts)*(passes*(instruction+ask)+tails) + looks*passes*records*s.Record
	c.Uncached.Seconds = v.read(c.Uncached.Tokens)
	return c
}
