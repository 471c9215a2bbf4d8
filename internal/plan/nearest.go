package plan

import (
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/reply"
)

// Nearest says that prompts compete which give each question the examples of the pool that are nearest to it. The pool is
// public, and a record's grade is that on its own examples: it costs work, and no ε.
type Nearest struct {
	// Encoder is the name of the encoder of sentences that finds them.
	Encoder string `json:"encoder"`
	// Examples are how many a question may get.
	Examples []int `json:"examples"`
}

// fillNearest checks what was asked of the nearest examples.
func (r *Request) fillNearest(c *ChooseRequest) error {
	if c.Nearest = max(0, c.Nearest); c.Nearest == 0 {
		return nil
	}
	switch t := r.Task.WithDefaults(); {
	case reply.Listed(t):
		return about("Nearest", "the nearest examples are for tasks without a closed list of labels, and the task %s has one: leave it out; evidence is for labels", t.Name)
	case c.Encoder == "":
		return about("Nearest", "the examples nearest to a question are found by an encoder of sentences: fetch it with sotto model pull minilm")
	case len(c.Sets) > 0:
		return about("Nearest", "ready-made sets are chosen among as they are: leave them out, or the nearest examples")
	}
	return nil
}

// nearest is what a request asks for: so many examples, and half as many.
func (c ChooseRequest) nearest() *Nearest {
	if c.Nearest <= 0 {
		return nil
	}
	out := &Nearest{Encoder: c.Encoder}
	if half := c.Nearest / 2; half > 0 {
		out.Examples = append(out.Examples, half)
	}
	out.Examples = append(out.Examples, c.Nearest)
	return out
}

// check finds what is wrong with the nearest examples of a plan.
func (n *Nearest) check(p Plan) error {
	switch {
	case n == nil:
		return nil
	case reply.Listed(p.Task):
		return fmt.Errorf("the nearest examples are for tasks without a closed list of labels")
	case n.Encoder == "" || len(n.Examples) == 0 || slices.Min(n.Examples) < 1:
		return fmt.Errorf("questions get at least one of the nearest examples, by an encoder that has a name")
	}
	return nil
}

// MaxExamples is how many examples a question gets at most; 0 without.
func (n *Nearest) MaxExamples() int {
	if n == nil || len(n.Examples) == 0 {
		return 0
	}
	return slices.Max(n.Examples)
}

// mean is how many examples a question gets on average.
func (n *Nearest) mean() float64 {
	if n == nil {
		return 0
	}
	sum := 0
	for _, k := range n.Examples {
		sum += k
	}
	return float64(sum) / float64(max(1, len(n.Examples)))
}

// sets is how many prompts with the nearest examples a round proposes that proposes them.
func (n *Nearest) sets() int64 {
	if n == nil {
		return 0
	}
	return int64(len(n.Examples))
}

// words say what competes, for people.
func (n *Nearest) words() string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("; prompts compete that give each question the examples nearest to it, up to %d", n.MaxExamples())
}

// nearRounds is about how many prompts with the nearest examples all rounds but the last propose: all of them in those
// with sets at random, and one, if it won before, in a later one.
func (c *Choose) nearRounds() int64 {
	if c.Nearest == nil {
		return 0
	}
	heats := min(c.ExplorationRounds, c.Rounds)
	return heats*c.Nearest.sets() + c.Rounds - heats
}

// nearLast is that of the last round.
func (c *Choose) nearLast() int64 {
	if c.Last == nil {
		return 0
	}
	return c.Nearest.sets()
}

// nearAnswers is how many answers of the records of n units are to questions with the nearest examples before them, and
// how many records are encoded, on average: the chosen prompt may be one of those.
func (c *Choose) nearAnswers(n int64) (answers, records float64) {
	if c.Nearest == nil {
		return 0, 0
	}
	answers, records = float64(c.nearRounds())*c.Draw.Expected(n), float64(c.Rounds)*c.Draw.Expected(n)
	if c.Last != nil {
		answers += float64(c.nearLast()) * c.Last.Draw.Expected(n)
		records += c.Last.Draw.Expected(n)
	}
	if c.Measure != nil {
		answers += c.Measure.Draw.Expected(n)
		records += c.Measure.Draw.Expected(n)
	}
	return answers, records
}

// nearWork is what the nearest examples add to the work of choosing.
func (p Plan) nearWork(s Shape, v Speed) Work {
	answers, records := p.Choose.nearAnswers(p.Units())
	tokens := answers * (float64(p.Tokens) + s.Head) * p.Choose.Nearest.mean()
	if v.Served { // each answer reads its prompt anyway
		tokens = 0
	}
	return Work{Tokens: tokens, Seconds: v.read(tokens) + v.Encode*records}
}
