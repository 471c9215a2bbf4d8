package accountant

import (
	"errors"
	"math"
	"sync"

	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/privacy"
)

// negligible is an ε for each run below which a lower end may be rounding alone. A lower end
// of 0 always holds.
const negligible = 1e-11

// search refines the answer for one direction.
type search struct {
	dir      direction
	q        query
	h        float64 // the next grid
	factor   float64 // of the last grid's h to the one before
	best     privacy.Interval
	answered bool // best holds an answer
	stalled  int  // how many finer grids hardly helped
	done     bool
}

// refine evaluates on finer grids until the interval is as narrow as asked for,
// or the grids are as fine as memory allows. The worst direction counts, so one
// that is known to be the better one is left alone.
func (r *pldRun) refine(dirs []direction, q query, tolerance float64) (privacy.Interval, error) {
	searches := make([]*search, len(dirs))
	for i, dir := range dirs {
		q := q.beside(r.failure[dir])
		searches[i] = &search{dir: dir, q: q, h: 8 * r.width(dir, q, tolerance)}
		if searches[i].best.Upper = math.Inf(1); q.wantDelta {
			searches[i].best.Upper = 1
		}
	}
	out := privacy.Interval{Upper: math.Inf(1)}
	for range 12 {
		var wg sync.WaitGroup
		for _, s := range searches {
			if !s.done {
				wg.Go(func() {
					defer fault.Watch()
					r.step(s, tolerance)
				})
			}
		}
		wg.Wait()
		out = privacy.Interval{}
		for _, s := range searches {
			out.Lower, out.Upper = math.Max(out.Lower, s.best.Lower), math.Max(out.Upper, s.best.Upper)
		}
		if math.IsInf(out.Lower, 1) || out.Upper < math.Inf(1) && out.Upper-out.Lower <= tolerance*out.Upper {
			break
		}
		done := true
		for _, s := range searches {
			s.done = s.done || s.best.Upper <= out.Lower
			done = done && s.done
		}
		if done {
			break
		}
	}
	runs := 0.0
	for _, n := range r.counts {
		runs += float64(n)
	}
	if out.Lower < negligible*runs {
		out.Lower = 0
	}
	if math.IsNaN(out.Upper) || math.IsNaN(out.Lower) || out.Lower > out.Upper {
		return out, errors.New("internal error: the pld accountant found no enclosure; please report the event")
	}
	return out, nil
}

// step tries one grid and picks the next. The error falls with h², so each look
// says how fine the grid has to be.
func (r *pldRun) step(s *search, tolerance float64) {
	a, points, ok := r.solve(s.dir, s.q, s.h)
	switch {
	case !ok && points > 0: // numbers out of range, as when all the tilted mass is in one cell
		s.h /= 2
		return
	case !ok: // the window does not fit: nothing finer can
		s.h *= 2
		s.done = s.answered
		return
	}
	before := s.best
	s.best.Lower, s.best.Upper = math.Max(s.best.Lower, a.Lower), math.Min(s.best.Upper, a.Upper)
	width := s.best.Upper - s.best.Lower
	relative := width / s.best.Upper
	if s.best.Upper == 0 || relative <= tolerance || math.IsInf(s.best.Lower, 1) {
		s.done = true
		return
	}
	// Where the ends belong to different mechanisms, they stay apart on any grid. What is
	// left to gain follows from what the last grid gained.
	gained := before.Width() - width
	if s.answered && *r.gap && gained*s.factor*s.factor/(1-s.factor*s.factor) < tolerance/4*s.best.Upper {
		s.done = true
		return
	}
	// Elsewhere finer grids stop to help where other errors are larger than that of the grid.
	if s.answered && points > cheap && gained < tolerance/4*s.best.Upper {
		if s.stalled++; s.stalled == 2 {
			s.done = true
			return
		}
	}
	s.answered = true
	if !s.q.wantDelta {
		s.q.epsilon = s.best.Lower // where the next window may begin
	}
	factor := 0.1
	if relative < 1 {
		factor = math.Max(0.1, math.Min(0.8, 0.85*math.Sqrt(tolerance/relative)))
	}
	s.h, s.factor = s.h*factor, factor
}
