package search

import (
	"slices"

	"github.com/sotto-dp/sotto/privacy/noise"
)

// Near are the ways to give each question the examples nearest to it: those of the whole pool, in place of a set. It is
// for tasks without a closed list of labels.
type Near struct {
	// Examples are how many a question may get; none without.
	Examples []int
	// Encoder is the name of the one that finds them.
	Encoder string
}

// placed reports whether a point gives questions the nearest examples as a prompt of the space can, if it does.
func (s Space) placed(p Point) bool {
	if p.Nearest == 0 {
		return p.Of == 0
	}
	return slices.Contains(s.Near.Examples, p.Nearest) && p.Nearest < p.Of && p.Of <= len(s.Pool) &&
		len(p.Set) == 0 && !p.Calibrated && !p.Evidence.Used() && len(s.Labels) == 0
}

// nearest are the points that give questions the nearest of all examples, with the instruction and the form of
// another one.
func (s Space) nearest(like Point) (out []Point) {
	for _, n := range s.Near.Examples {
		p := Point{Instruction: like.Instruction, Form: like.Form, Nearest: n, Of: len(s.Pool)}
		if s.placed(p) {
			out = append(out, p)
		}
	}
	return out
}

// varyNearest changes one thing about a point that gives questions the nearest examples: the instruction, the form, or
// how many, of the pool as it is now.
func (s Space) varyNearest(p Point, r *noise.Stream) Point {
	switch way := below(r, 3); {
	case way == 0 && len(s.Instructions) > 0:
		p.Instruction = below(r, len(s.Instructions)+1)
	case way == 1 && len(s.Forms) > 1:
		p.Form = s.Forms[below(r, len(s.Forms))]
	default:
		p.Nearest = s.Near.Examples[below(r, len(s.Near.Examples))]
	}
	p.Of = len(s.Pool)
	return p
}
