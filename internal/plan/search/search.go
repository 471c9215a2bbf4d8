// Package search proposes prompts: which examples of a pool, how many, in which order, with
// which instruction, and how labels are read off.
//
// Everything here is public. A proposal follows from the pool, from earlier
// winners that a private mechanism has released, and from randomness that has nothing to do
// with records. So it costs nothing, and may be arbitrarily clever. It cannot look at
// records: none of its arguments holds one.
//
// The first rounds of a search propose random sets with balanced labels, and no examples at
// all. Later rounds propose the winner and variations of it. The last proposes the winners
// of rounds, that of the first among them, and no examples. Where there is evidence ([Uses]), every set
// that is one text is also read with it, some sets have hints, and evidence alone competes. Where questions may get the
// nearest examples ([Near]), that of the whole pool competes in the first rounds and in the last.
package search

import (
	"slices"

	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Space is the space of prompts.
type Space struct {
	// Pool of examples.
	Pool []prompt.Example
	// Beside are examples of the pool of another kind. A random set has only one kind, so
	// that either kind competes as a whole and the better one is not diluted; every fourth
	// set has this kind.
	Beside Span
	// Instructions beside the task's own.
	Instructions []string
	// Labels of a closed list, whose answers are tried both raw and calibrated. None for
	// tasks of other kinds.
	Labels []string
	// Shots is the number of examples of the first sets, MaxShots the maximum.
	Shots, MaxShots int
	// Forms of prompts, the usual one first; none is a text. Labels in turns are read off what the
	// model writes, and no other way.
	Forms []prompt.Form
	// Reading restricts how labels are read off; "" tries both ways.
	Reading Reading
	// Fresh is the number of texts at the end of the pool that resemble the last winner's.
	// Variations try them as often as the whole pool.
	Fresh int
	// Uses are the ways to use evidence, none by default.
	Uses Uses
	// Near are the ways to give each question the nearest examples of the pool, none by default.
	Near Near
	// Given are sets that the first round proposes instead of random ones.
	Given [][]int
}

// Span is a range of indices of a pool, without To.
type Span struct{ From, To int }

// Reading is a way of reading labels off probabilities.
type Reading string

// The ways.
const (
	// Raw takes the label with the largest probability, which any client can do.
	Raw Reading = "raw"
	// Calibrated first divides probabilities by those after content-free questions.
	Calibrated Reading = "calibrated"
)

// Point is a prompt of a space: short enough for a journal.
type Point struct {
	// Set are examples of the pool, in their order.
	Set []int `json:"set"`
	// Instruction is the number of one of the space's, from 1; 0 is the task's own.
	Instruction int         `json:"instruction,omitempty"`
	Form        prompt.Form `json:"form,omitempty"`
	Calibrated  bool        `json:"calibrated,omitempty"`
	// Evidence is how it is used, if it is.
	Evidence prompt.Use `json:"evidence,omitzero"`
	// Nearest is how many examples a question gets of the first Of in the pool, in place of Set; 0 for Set.
	Nearest int `json:"nearest,omitempty"`
	Of      int `json:"of,omitempty"`
}

func (p Point) equal(o Point) bool {
	return p.Instruction == o.Instruction && p.Form == o.Form && p.Calibrated == o.Calibrated && p.Evidence == o.Evidence && p.Nearest == o.Nearest && p.Of == o.Of && slices.Equal(p.Set, o.Set)
}

// Valid reports whether a point is in the space.
func (s Space) Valid(p Point) bool {
	if p.Instruction < 0 || p.Instruction > len(s.Instructions) || p.Calibrated && (len(s.Labels) == 0 || len(s.Forms) > 0) {
		return false
	}
	if p.Form != "" && !slices.Contains(s.Forms, p.Form) || p.Form == "" && len(s.Forms) > 0 {
		return false
	}
	return s.usable(p) && s.placed(p) && !slices.ContainsFunc(p.Set, func(i int) bool { return i < 0 || i >= len(s.Pool) })
}

// Prompt returns the prompt of a point.
func (s Space) Prompt(p Point) prompt.Prompt {
	out := prompt.Prompt{Form: p.Form, Calibrated: p.Calibrated, Evidence: p.Evidence}
	if p.Instruction > 0 {
		out.Instruction = s.Instructions[p.Instruction-1]
	}
	for _, i := range p.Set {
		out.Examples = append(out.Examples, s.Pool[i])
	}
	if p.Nearest > 0 {
		out.Examples, out.Nearest = slices.Clone(s.Pool[:p.Of]), prompt.Nearest{Examples: p.Nearest, Encoder: s.Near.Encoder}
	}
	return out
}

// Prompts returns the prompts of points.
func (s Space) Prompts(points []Point) []prompt.Prompt {
	out := make([]prompt.Prompt, len(points))
	for i, p := range points {
		out[i] = s.Prompt(p)
	}
	return out
}

// First proposes prompts without examples, one for each instruction, and random sets, up to
// n+1 prompts in all, each with each way of reading labels; and beside them those without examples that
// use evidence, and those that give questions the nearest examples.
func (s Space) First(n int, r *noise.Stream) ([]Point, error) {
	var sets []Point
	add := func(p Point) {
		if !slices.ContainsFunc(sets, p.equal) {
			sets = append(sets, p)
		}
	}
	add(s.none())
	for i := range s.Instructions {
		add(Point{Instruction: i + 1, Form: s.usual()})
	}
	evident := s.evident()
	for _, p := range evident {
		add(p)
	}
	if len(s.Given) > 0 {
		for _, set := range s.Given {
			add(Point{Set: set, Form: s.usual()})
		}
		return s.bothWays(sets), nil
	}
	near := s.nearest(s.none())
	for _, p := range near {
		add(p)
	}
	limit, before := n+1+len(evident)+len(near), len(sets)
	for tries := 0; len(sets) < limit && tries < 8*n && len(s.Pool) > 0; tries++ {
		p, err := s.fresh(len(sets)-before, r)
		if err != nil {
			return nil, err
		}
		add(p)
	}
	return s.bothWays(sets), nil
}

// none is the task without examples.
func (s Space) none() Point { return Point{Form: s.usual()} }

// usual is the form that most prompts have.
func (s Space) usual() prompt.Form {
	if len(s.Forms) == 0 {
		return ""
	}
	return s.Forms[0]
}

// form returns the usual form, or in one of four cases another.
func (s Space) form(r *noise.Stream) prompt.Form {
	if len(s.Forms) < 2 || below(r, 4) > 0 {
		return s.usual()
	}
	return s.Forms[1+below(r, len(s.Forms)-1)]
}

// size returns the size of a set: Shots, or up to MaxShots.
func (s Space) size(r *noise.Stream) int {
	upper := min(s.MaxShots, len(s.Pool))
	lower := min(s.Shots, upper)
	return lower + below(r, upper-lower+1)
}

// set draws random examples with balanced labels.
func (s Space) set(size int, r *noise.Stream) ([]int, error) {
	kind := s.kind(r)
	order, err := r.Permutation(len(kind))
	for i, at := range order {
		order[i] = kind[at]
	}
	if err != nil || len(s.Labels) == 0 {
		return order[:min(size, len(order))], err
	}
	labels, err := r.Permutation(len(s.Labels))
	if err != nil {
		return nil, err
	}
	by := map[string][]int{}
	for _, i := range order {
		by[s.Pool[i].Output] = append(by[s.Pool[i].Output], i)
	}
	var set []int
	for len(set) < size {
		before := len(set)
		for _, l := range labels {
			list := by[s.Labels[l]]
			if len(set) == size || len(list) == 0 {
				continue
			}
			set = append(set, list[0])
			by[s.Labels[l]] = list[1:]
		}
		if len(set) == before {
			break
		}
	}
	return shuffled(set, r)
}

// kind returns the examples of one kind: of those beside in one of four cases.
func (s Space) kind(r *noise.Stream) []int {
	n := s.Beside.To - s.Beside.From
	mixed := n <= 0 || n >= len(s.Pool)
	beside := !mixed && below(r, 4) == 0
	var out []int
	for i := range s.Pool {
		if within := i >= s.Beside.From && i < s.Beside.To; mixed || within == beside {
			out = append(out, i)
		}
	}
	return out
}

func shuffled(set []int, r *noise.Stream) ([]int, error) {
	order, err := r.Permutation(len(set))
	out := make([]int, len(set))
	for i, at := range order {
		out[i] = set[at]
	}
	return out, err
}

// Next proposes the last winner and n-1 variations of it, or random sets after one that has nothing to
// vary.
func (s Space) Next(winner Point, n int, r *noise.Stream) []Point {
	winner = winner.unread()
	sets := []Point{winner}
	for tries := 0; len(sets) < n && tries < 20*n; tries++ {
		p := s.another(winner, len(sets)-1, r)
		if !slices.ContainsFunc(sets, p.equal) {
			sets = append(sets, p)
		}
	}
	return s.bothWays(sets)
}

// final proposes at most n winners of rounds, each once, the latest first, and at any rate that of the
// first round, and no examples, with the task's instruction and the latest winner's: a
// winner should be better than all that, than evidence alone, and than the nearest examples.
func (s Space) final(winners []Point, n int) []Point {
	var sets []Point
	add := func(p Point) {
		if p = p.unread(); !slices.ContainsFunc(sets, p.equal) {
			sets = append(sets, p)
		}
	}
	first := winners[0].unread()
	for _, w := range slices.Backward(winners) {
		room := n
		if !slices.ContainsFunc(sets, first.equal) {
			room = max(1, n-1) // one is for that of the first round
		}
		if len(sets) < room {
			add(w)
		}
	}
	add(first)
	add(s.none())
	bare := s.none()
	bare.Instruction = winners[len(winners)-1].Instruction
	add(bare)
	if s.Uses.Alone && len(s.Labels) > 0 {
		add(s.alone())
	}
	for _, p := range s.nearest(winners[len(winners)-1]) {
		add(p)
	}
	return s.bothWays(sets)
}

// The shares of variations, in hundredths; what is left drops an example.
const (
	instructing = 10 // if there are several instructions
	forming     = 5  // if there are several forms
	hinting     = 8  // if there are hints
	exchanging  = 55
	swapping    = 15
	adding      = 20
)

// vary changes one thing about a point, or nothing if the change is impossible.
func (s Space) vary(p Point, r *noise.Stream) Point {
	p.Set = slices.Clone(p.Set)
	if len(s.Instructions) > 0 && below(r, 100) < instructing {
		p.Instruction = below(r, len(s.Instructions)+1)
		return p
	}
	if len(s.Forms) > 1 && below(r, 100) < forming {
		p.Form = s.Forms[below(r, len(s.Forms))]
		return p
	}
	if s.hints() > 0 && below(r, 100) < hinting {
		return s.toggled(p, r)
	}
	switch at := below(r, 100); {
	case at < exchanging:
		if other, ok := s.other(p.Set, r); ok && len(p.Set) > 0 {
			p.Set[below(r, len(p.Set))] = other
		}
	case at < exchanging+swapping:
		if n := len(p.Set); n > 1 {
			i, j := below(r, n), below(r, n)
			p.Set[i], p.Set[j] = p.Set[j], p.Set[i]
		}
	case at < exchanging+swapping+adding:
		if other, ok := s.other(p.Set, r); ok && len(p.Set) < s.MaxShots {
			p.Set = slices.Insert(p.Set, below(r, len(p.Set)+1), other)
		}
	default:
		if n := len(p.Set); n > 0 {
			at := below(r, n)
			p.Set = slices.Delete(p.Set, at, at+1)
		}
	}
	return p
}

// other returns an example that is not in a set.
func (s Space) other(set []int, r *noise.Stream) (int, bool) {
	if len(s.Pool) == 0 {
		return 0, false
	}
	kind := s.kind(r)
	i := kind[below(r, len(kind))]
	if s.Fresh > 0 && below(r, 2) == 0 {
		i = len(s.Pool) - 1 - below(r, min(s.Fresh, len(s.Pool)))
	}
	return i, !slices.Contains(set, i)
}

// below returns a number from 0 to n-1.
func below(r *noise.Stream, n int) int {
	if n <= 1 {
		return 0
	}
	return int(r.Uint64n(uint64(n)))
}

// Schedule defines what each round of a search proposes.
type Schedule struct {
	// Rounds in all, of which ExplorationRounds (at least one) propose random sets.
	Rounds, ExplorationRounds int64
	// First and Next are the numbers of sets of a heat and of a later round.
	First, Next int
	// Finalists is how many winners compete in one more round, after those; 0 if there is none, and
	// the last of Rounds is between winners.
	Finalists int
}

// Varies reports whether a round, from 0, proposes variations of the winner before it.
func (at Schedule) Varies(round int64) bool {
	heats := max(1, at.ExplorationRounds)
	return round >= heats && !at.playsOff(round)
}

// playsOff reports whether a round is between winners.
func (at Schedule) playsOff(round int64) bool {
	heats := max(1, at.ExplorationRounds)
	if at.Finalists > 0 {
		return round == at.Rounds || round > 1 && round == heats && heats > 1
	}
	return round > 1 && (round == at.Rounds-1 || round == heats && heats > 1)
}

// Propose returns the points of a round, from 0, after the winners of those before it.
func (s Space) Propose(at Schedule, winners []Point, r *noise.Stream) ([]Point, error) {
	round, heats := int64(len(winners)), max(1, at.ExplorationRounds)
	switch {
	case round == at.Rounds && at.Finalists > 0:
		return s.final(winners, at.Finalists), nil
	case round < heats:
		return s.First(at.First, r)
	case at.playsOff(round):
		return s.final(winners, max(at.Next, playing)), nil
	}
	return s.Next(winners[round-1], at.Next, r), nil
}

// playing is the minimal number of winners that compete in a round between them, unless the schedule says.
const playing = 12
