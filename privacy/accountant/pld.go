package accountant

import (
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// PLD evaluates events by numerical composition of privacy loss distributions,
// rigorously from both sides. Any nesting of sampling, composition and parallel
// parts over the leaves is handled.
type PLD struct {
	// Tolerance is the relative width of the interval that is aimed at; 0 means
	// 8e-4. The ends are guaranteed whatever it is.
	Tolerance float64
}

// Name implements [Accountant].
func (PLD) Name() string { return "pld" }

func (p PLD) solver(adj privacy.Adjacency) solver {
	return solver{adj: adj, tolerance: p.Tolerance, numerical: true}
}

// Epsilon implements [Accountant].
func (p PLD) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	r, err := p.solver(adj).answer(p.Name(), e, ask{delta, delta, false})
	return r.Interval, err
}

// Delta implements [Accountant].
func (p PLD) Delta(e privacy.Event, adj privacy.Adjacency, epsilon float64) (privacy.Interval, error) {
	r, err := p.solver(adj).answer(p.Name(), e, ask{epsilon, epsilon, true})
	return r.Interval, err
}

// pldKey is all that an answer depends on. [privacy.Parse] reads the text of an event back
// to an equal event, so different events have different keys.
type pldKey struct {
	event     string
	adjacency privacy.Adjacency
	ask       ask
	tolerance float64
}

// pldAnswers remembers answers: one event is planned, charged, certified and checked, each
// time with the same question, and those that run the same job again plan the same again.
var pldAnswers = memo[pldKey, privacy.Interval]{size: 1 << 12}

// query asks for ε at δ, or for δ at ε.
type query struct {
	// The upper end is for delta and the lower one for top: δ may be known to
	// the last digits only.
	delta, top float64
	// room is about what δ leaves beside infinite losses, for losses that a grid
	// cuts off; 0: all of it.
	room float64
	// epsilon is for upper ends, and last for lower ones.
	epsilon, last float64
	wantDelta     bool
}

// beside returns the query with room for infinite losses of about the given mass.
func (q query) beside(failure float64) query {
	q.room = math.Max(q.delta-failure, q.delta*1e-9)
	return q
}

// spare returns the δ against which errors have to be small.
func (q query) spare() float64 {
	if q.room > 0 {
		return q.room
	}
	return q.delta
}

// composed answers for a composition in its normal form: by a closed form where there is one,
// else numerically.
func (s solver) composed(e privacy.Event, terms []privacy.Term, a ask) (privacy.Interval, error) {
	if mu, ok := allGaussian(terms); ok {
		return gaussianAnswer(mu, a), nil
	}
	top, attained, err := supremum(e, s.adj)
	switch {
	case err != nil:
		return privacy.Interval{}, err
	case a.forDelta && a.low >= top: // no loss above ε
		return privacy.Interval{}, nil
	case !a.forDelta && a.low == 0 && attained:
		return privacy.Interval{Lower: top * (1 - 1e-12), Upper: top}, nil
	case !a.forDelta && a.low == 0:
		return privacy.Interval{Upper: top}, nil
	}
	return pldAnswers.get(pldKey{e.String(), s.adj, a, s.width()}, func() (privacy.Interval, error) {
		return s.numeric(e, terms, a)
	})
}

// numeric composes terms on grids.
func (s solver) numeric(e privacy.Event, terms []privacy.Term, a ask) (privacy.Interval, error) {
	q := query{delta: a.low, top: a.high}
	if a.forDelta {
		q = query{epsilon: a.low, last: a.high, wantDelta: true}
	}
	gap := s.adj == privacy.ReplaceOne
	b := builder{adj: s.adj, tolerance: s.width(), gap: &gap}
	lost := failure(e, s.adj, remove)
	run, err := b.composition(terms, q.beside(lost))
	if err != nil || len(run.sources) == 0 {
		return privacy.Interval{}, err
	}
	run.failure = [3]float64{remove: lost, add: failure(e, s.adj, add), exchange: lost}
	dirs := []direction{remove}
	if s.adj == privacy.ReplaceOne {
		dirs = []direction{exchange}
	} else if !run.symmetric() {
		dirs = []direction{remove, add}
	}
	return run.refine(dirs, q, s.width())
}

// pldRun is a composition ready to be evaluated at any resolution.
type pldRun struct {
	sources []source
	counts  []int64
	gap     *bool // see builder
	// failure is about the P-mass at infinite loss, by direction.
	failure [3]float64
}

func (r *pldRun) symmetric() bool {
	for _, s := range r.sources {
		if !s.symmetric() {
			return false
		}
	}
	return true
}

// tails returns the P-mass that one run may leave outside its cells.
func (r *pldRun) tails(q query, i int) float64 {
	scale := 1e-24
	if !q.wantDelta {
		scale = q.spare() * 1e-4
	}
	return math.Max(1e-290, scale/float64(r.counts[i])/float64(len(r.counts)))
}

// maxCells bounds the memory of one pld.
const maxCells = 1 << 20

// width picks a first grid: rounding up adds about h²/6 to the variance of each
// run's loss and rounding down takes h²/3, so h is a small part of the standard
// deviation of a run.
func (r *pldRun) width(dir direction, q query, tolerance float64) float64 {
	var variance, count, span float64
	for i, s := range r.sources {
		o := s.outline(dir, r.tails(q, i))
		n := float64(r.counts[i])
		variance += n * o.sd * o.sd
		count += n
		span = math.Max(span, o.hi-o.lo)
	}
	if variance == 0 { // nothing but atoms in one place, or infinite loss
		return math.Max(1, span/1024)
	}
	h := math.Sqrt(2 * tolerance * variance / count)
	return math.Max(h, span/maxCells*2)
}

// align moves a width so that the atoms of the most important source that has
// any lie on the grid.
func (r *pldRun) align(dir direction, q query, h float64) (float64, []grid) {
	grids := make([]grid, len(r.sources))
	outlines := make([]outline, len(r.sources))
	weight, period := 0.0, 0.0
	for i, s := range r.sources {
		o := s.outline(dir, r.tails(q, i))
		outlines[i] = o
		if w := float64(r.counts[i]) * o.sd * o.sd; o.period > 0 && w > weight {
			weight, period = w, o.period
		}
	}
	if period >= h {
		h = period / math.Ceil(period/h)
	}
	for i, o := range outlines {
		grids[i].h = h
		if o.period > 0 {
			grids[i].off = o.base - math.Floor(o.base/h)*h
		}
	}
	return h, grids
}

// cheap is a number of grid points up to which trying a finer grid costs little.
const cheap = 1 << 13

// solve answers a query on one grid, and says how many points it took; 0 points
// without an answer say that the grid is too fine.
func (r *pldRun) solve(dir direction, q query, h float64) (answer privacy.Interval, points int, ok bool) {
	h, grids := r.align(dir, q, h)
	if !(h > 0) {
		return answer, 0, false
	}
	parts := make([]part, len(r.sources))
	sketches := make([]sketch, len(r.sources))
	for i, s := range r.sources {
		o := s.outline(dir, r.tails(q, i))
		if (o.hi-o.lo)/h > maxCells {
			return answer, 0, false
		}
		up, low := s.build(dir, grids[i], r.tails(q, i))
		points = max(points, len(up.m))
		parts[i] = part{up: up, low: low, n: r.counts[i], shift: snap * up.h}
		sketches[i] = up.sketch(r.counts[i])
	}
	if len(parts) == 1 && parts[0].n == 1 {
		return single(parts[0], q), points, true
	}
	if answer, ok := allInfinite(parts, q); ok {
		return answer, points, true
	}
	c, ok := target(parts, sketches, q)
	if c == nil {
		return answer, 0, false
	}
	if points = max(points, len(c.up)); !ok {
		return answer, points, false
	}
	if q.wantDelta {
		answer.Lower, answer.Upper = c.delta(q.epsilon, q.last)
	} else {
		answer.Lower, answer.Upper = c.lowerEpsilon(q.top), c.upperEpsilon(q.delta)
	}
	return answer, points, true
}

// single answers for one run, where nothing has to be composed.
func single(p part, q query) privacy.Interval {
	if q.wantDelta {
		return privacy.Interval{Lower: p.low.delta(q.last+p.shift) * (1 - massError), Upper: math.Min(1, p.up.delta(q.epsilon)*(1+massError))}
	}
	lower, upper := p.low.epsilon(q.top*(1+massError)), p.up.epsilon(q.delta*(1-massError))
	return privacy.Interval{Lower: math.Max(0, lower*(1-massError)-p.shift), Upper: upper * (1 + massError)}
}

// logTilted is how much of the tilted measure may lie outside the window of a
// block, and logSlack what may be cut off or folded in, relative to δ.
const logTilted, logSlack = -24, -11

// target composes parts with the tilt that suits a query. It returns nil when the
// window is too long for the grid.
func target(parts []part, sketches []sketch, q query) (*composition, bool) {
	var theta, logDelta float64
	epsilon := q.epsilon
	if q.wantDelta {
		theta, logDelta = tiltForEpsilon(sketches, epsilon)
	} else {
		logDelta = math.Log(q.spare())
		var bound float64
		theta, bound = tiltForDelta(sketches, q.spare())
		if epsilon == 0 { // the Chernoff bound is above ε by a few times 1/θ
			epsilon = math.Max(0, bound-20/theta)
		} else {
			epsilon = math.Max(0, epsilon-1/theta)
		}
	}
	if w := findTarget(sketches, theta, epsilon, logDelta+logSlack); w.hi-w.lo > cheap*parts[0].up.h {
		theta = shorten(sketches, theta, epsilon, logDelta)
	}
	parts, ok := inBlocks(parts, theta, logDelta+logSlack)
	if !ok {
		return nil, false
	}
	sketches = sketches[:0]
	for _, p := range parts {
		sketches = append(sketches, p.up.sketch(p.n))
	}
	w := findTarget(sketches, theta, epsilon-2*parts[0].up.h, logDelta+logSlack)
	c, ok := compose(parts, theta, w)
	if ok {
		c.setTarget(parts, w)
	}
	return c, ok
}

// shorten looks for a smaller tilt that needs a shorter window. The best tilt
// for accuracy leaves far more digits than are needed, and with heavy tails it
// gives weight to losses far above ε.
func shorten(sketches []sketch, theta, epsilon, logDelta float64) float64 {
	runs := 0.0
	for _, s := range sketches {
		runs += s.n
	}
	digits := math.Log(1e-13 * math.Max(1, runs)) // error of the transforms
	best, shortest := theta, math.Inf(1)
	for _, f := range [...]float64{1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3} {
		t := theta * f
		k, _, _ := cumulants(sketches, t)
		if f < 1 && digits+k-t*epsilon > logDelta-7 {
			break
		}
		w := findTarget(sketches, t, epsilon, logDelta+logSlack)
		if length := w.hi - w.lo; length < shortest {
			best, shortest = t, length
		}
	}
	return best
}
