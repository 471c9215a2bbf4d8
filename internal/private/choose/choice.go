package choose

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/grader"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// Utility is what a record says about a candidate.
type Utility = grader.Utility

// The utilities there are: package grader defines them.
const (
	Hard    = grader.Hard
	Soft    = grader.Soft
	Written = grader.Written
	Rouge   = grader.Rouge
)

// Utilities lists them.
func Utilities() []Utility { return []Utility{Hard, Soft, Written, Rouge} }

// Suits checks that a utility is one for a task.
func Suits(u Utility, t prompt.Task) error { return grader.Suits(u, t) }

// Reads checks that a utility is one for prompts of a form.
func Reads(u Utility, f prompt.Form) error { return grader.Reads(u, f) }

// Choice are the settings of choosing: public values that the cost follows from.
type Choice struct {
	// Draw of a round. Every round has a draw of its own: per token, in the words of package
	// draw.
	Draw scheme.Scheme `json:"draw"`
	// Rounds at most.
	Rounds int64 `json:"rounds"`
	// Range is what a round costs those who were drawn: boundedrange(Range).
	Range float64 `json:"range"`
	// Utility is what a record says about a candidate.
	Utility Utility `json:"utility"`
}

// minRange keeps a range's half a float64 that is exact, and not zero.
const minRange = 1e-300

// Check finds what is wrong with the settings.
func (c Choice) Check() error {
	if err := c.Draw.Check(); err != nil {
		return err
	}
	switch {
	case c.Draw.Kind == scheme.Disjoint || c.Draw.Per != scheme.PerToken || c.Draw.Prompts != 0:
		return fmt.Errorf("each round of choosing has a draw of its own, in which each record is by itself: draw poisson or fixed-size per token, onto no prompts")
	case c.Rounds < 1:
		return fmt.Errorf("choosing takes at least one round, not %d", c.Rounds)
	case !(c.Range >= minRange) || math.IsInf(c.Range, 1):
		return fmt.Errorf("a choice needs a positive range, not %v", c.Range)
	}
	switch c.Utility {
	case Hard, Soft, Written, Rouge:
	default:
		return fmt.Errorf("unknown utility %q: one of %v", c.Utility, Utilities())
	}
	return privacy.Validate(c.Event())
}

// Step is what a round costs those who were drawn.
func (c Choice) Step() privacy.Event { return privacy.BoundedRange{C: c.Range} }

// Event is what all rounds cost.
func (c Choice) Event() privacy.Event {
	return privacy.Canonical(c.Draw.Event(c.Step(), c.Rounds))
}

// Proof cites why Event is right, for certificates.
func (Choice) Proof() string {
	return "exponential mechanism on a sum of numbers from 0 to 1, one for each drawn unit and candidate, of which one unit adds or removes one vector, or exchanges it: bounded range, in rounds with draws of their own"
}

// rate is the ε_r of the weights exp(ε_r·u): the utilities of two candidates move against
// each other by 1, or by 2 where a unit is exchanged for another.
func (c Choice) rate() float64 {
	if c.Draw.Adjacency() == privacy.ReplaceOne {
		return c.Range / 2
	}
	return c.Range
}
