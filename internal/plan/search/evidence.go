package search

import (
	"slices"

	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Uses are the ways to use evidence that a space has: none by default. They are for tasks with a closed
// list of labels.
type Uses struct {
	// Weights with which evidence is combined with the scores of labels, where prompts are texts.
	Weights []float64
	// Hints is the number of wordings of hints.
	Hints int
	// Alone: it may answer without a model.
	Alone bool
	// Only prompts that use it are proposed, if there are any: where few records choose, one that does not
	// would win by chance as a rule.
	Only bool
}

// has reports whether a use is one of the ways.
func (u Uses) has(use prompt.Use) bool {
	switch use.How {
	case "":
		return use == prompt.Use{}
	case prompt.Combined:
		return slices.Contains(u.Weights, use.Weight) && use == combined(use.Weight)
	case prompt.Hinted:
		return use.Wording >= 0 && use.Wording < u.Hints && use == hint(use.Wording)
	case prompt.Alone:
		return u.Alone && use == alone
	}
	return false
}

func combined(weight float64) prompt.Use {
	return prompt.Use{How: prompt.Combined, Weight: weight}
}

func hint(wording int) prompt.Use { return prompt.Use{How: prompt.Hinted, Wording: wording} }

var alone = prompt.Use{How: prompt.Alone}

// usable reports whether a point uses evidence as a prompt of the space can.
func (s Space) usable(p Point) bool {
	if !p.Evidence.Used() {
		return p.Evidence == prompt.Use{}
	}
	if len(s.Labels) == 0 || !s.Uses.has(p.Evidence) {
		return false
	}
	switch p.Evidence.How {
	case prompt.Combined: // there are no scores in turns
		return len(s.Forms) == 0
	case prompt.Alone:
		return p.equal(s.alone())
	}
	return true
}

// alone is the evidence without a model.
func (s Space) alone() Point { return Point{Form: s.usual(), Evidence: alone} }

// evident are the points without examples that use evidence: with a hint of each wording, and alone.
func (s Space) evident() (out []Point) {
	if len(s.Labels) == 0 {
		return nil
	}
	for wording := range s.Uses.Hints {
		out = append(out, Point{Form: s.usual(), Evidence: hint(wording)})
	}
	if s.Uses.Alone {
		out = append(out, s.alone())
	}
	return out
}

// hinted has every fourth of some sets ask with a hint, in each wording in turn; or each of them, where it would
// not be proposed without.
func (s Space) hinted(p Point, at int) Point {
	each := 4
	if s.Uses.Only && len(s.Forms) > 0 {
		each = 1
	}
	if s.hints() > 0 && at%each == each-1 {
		p.Evidence = hint(at / each % s.hints())
	}
	return p
}

// hints is the number of wordings, 0 where there are no labels to hint at.
func (s Space) hints() int {
	if len(s.Labels) == 0 {
		return 0
	}
	return s.Uses.Hints
}

// toggled is a point with a hint, or without the one that it has.
func (s Space) toggled(p Point, r *noise.Stream) Point {
	if p.Evidence.How == prompt.Hinted {
		p.Evidence = prompt.Use{}
	} else {
		p.Evidence = hint(below(r, s.hints()))
	}
	return p
}

// unread is a point without how its labels are read off. A hint is part of the question, and stays.
func (p Point) unread() Point {
	p.Calibrated = false
	if p.Evidence.How == prompt.Combined {
		p.Evidence = prompt.Use{}
	}
	return p
}

// calibrations are the ways to read labels off a model's scores.
func (s Space) calibrations() []bool {
	switch {
	case len(s.Labels) == 0 || len(s.Forms) > 0:
		return []bool{false}
	case s.Reading == Raw:
		return []bool{false}
	case s.Reading == Calibrated:
		return []bool{true}
	}
	return []bool{false, true}
}

// weighted are the ways to combine a set's scores with evidence, the first without.
func (s Space) weighted(p Point) []prompt.Use {
	out := []prompt.Use{p.Evidence}
	if p.Evidence.Used() || len(s.Labels) == 0 || len(s.Forms) > 0 {
		return out
	}
	for _, w := range s.Uses.Weights {
		out = append(out, combined(w))
	}
	return out
}

// bothWays has labels read off raw and calibrated, with evidence of each weight and without, where that
// makes a difference.
func (s Space) bothWays(sets []Point) []Point {
	var out []Point
	for _, p := range sets {
		if p.Evidence == alone || p.Nearest > 0 {
			out = append(out, p)
			continue
		}
		for _, use := range s.weighted(p) {
			for _, calibrated := range s.calibrations() {
				p.Evidence, p.Calibrated = use, calibrated
				out = append(out, p)
			}
		}
	}
	return s.only(out)
}

// only leaves out points that use no evidence, where those that do are the only ones to compete.
func (s Space) only(points []Point) []Point {
	uses := func(p Point) bool { return p.Evidence.Used() }
	if !s.Uses.Only || !slices.ContainsFunc(points, uses) {
		return points
	}
	return slices.DeleteFunc(points, func(p Point) bool { return !uses(p) })
}

// fresh is a set at random.
func (s Space) fresh(at int, r *noise.Stream) (Point, error) {
	set, err := s.set(s.size(r), r)
	if err != nil {
		return Point{}, err
	}
	return s.hinted(Point{Set: set, Instruction: below(r, len(s.Instructions)+1), Form: s.form(r)}, at), nil
}

// another is a variation of a point, or a set at random after evidence alone and beside the nearest examples, of which
// there is one variation.
func (s Space) another(p Point, at int, r *noise.Stream) Point {
	switch {
	case p.Nearest > 0 && at == 0:
		return s.varyNearest(p, r)
	case p.Evidence != alone && p.Nearest == 0:
		return s.vary(p, r)
	}
	if len(s.Pool) == 0 {
		return s.none()
	}
	p, err := s.fresh(at, r)
	if err != nil {
		return s.none()
	}
	return p
}
