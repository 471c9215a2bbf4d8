package accountant

import (
	"errors"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// solver answers for events of any form.
type solver struct {
	adj       privacy.Adjacency
	tolerance float64 // 0: the default of each method
	// Which solvers are asked: numerical composition with the closed form of Gaussians, the
	// optimal composition of bounded range before it, and Rényi bounds after it.
	numerical, ranges, bounds bool
}

// answer checks a question and answers it.
func (s solver) answer(name string, e privacy.Event, a ask) (Result, error) {
	var err error
	if s.adj, err = privacy.ParseAdjacency(string(s.adj)); err != nil {
		return Result{}, err
	}
	if err := supported(name, e, refuseDraws(s.adj)); err != nil {
		return Result{}, err
	}
	if a.forDelta {
		err = privacy.CheckEpsilon(a.low)
	} else {
		err = privacy.CheckDelta(a.low)
	}
	if err != nil {
		return Result{}, err
	}
	return s.enclose(e, a)
}

// narrow reports whether nothing is left to gain.
func (s solver) narrow(r Result) bool {
	return math.IsInf(r.Lower, 1) || r.Upper < math.Inf(1) && r.Upper-r.Lower <= 2*s.width()*r.Upper && r.Accountant != ""
}

func (s solver) width() float64 {
	if s.tolerance > 0 {
		return s.tolerance
	}
	return 8e-4
}

// compose asks the solvers that enclose the exact answer of a composition.
func (s solver) compose(e privacy.Event, terms []privacy.Term, a ask) (Result, error) {
	best := Result{Interval: privacy.Interval{Upper: math.Inf(1)}}
	if a.forDelta {
		best.Upper = 1
	}
	if r, ok := terms[0].Event.(privacy.BoundedRange); s.ranges && ok && len(terms) == 1 {
		got, err := rangeAnswer(brKey{r.C, terms[0].N, s.tolerance}, a)
		if err == nil {
			err = best.meet(Result{got, "bounded-range", "equal bounded-range steps: the optimal adaptive composition is the exact answer"})
		}
		if beyond := errors.Is(err, errBRSteps) || errors.Is(err, errBRRange); err != nil && !beyond || s.narrow(best) {
			return best, err
		}
	}
	if !s.numerical {
		return best, nil
	}
	if n := differing(e); n > maxTerms {
		return best, &tooLongError{n}
	}
	got, err := s.composed(e, terms, a)
	if err != nil {
		return best, err
	}
	return best, best.meet(Result{got, "pld", "numerical composition encloses the exact answer"})
}

// bound adds the Rényi bounds to what is known: of the event, and of what runs on one sample,
// amplified. Failed is why nothing is known.
func (s solver) bound(e privacy.Event, terms []privacy.Term, a ask, best Result, failed error) (Result, error) {
	asked := failed == nil && best.Accountant != ""
	try := func(r Result, err error) error {
		if unsupported := (*UnsupportedError)(nil); errors.As(err, &unsupported) {
			if failed == nil {
				failed = err
			}
			return nil
		}
		if err != nil {
			return err
		}
		asked = true
		return best.meet(r)
	}
	got, err := rdpAnswer(e, s.adj, a)
	if err := try(Result{got, "rdp", "the Rényi bound is below the numerical one"}, err); err != nil {
		return Result{}, err
	}
	if d, inner, ok := oneDraw(terms); ok && (s.adj == privacy.AddRemove || plain(inner)) {
		r, err := solver{adj: s.adj, bounds: true}.amplified(d, inner, a)
		r.Lower, r.Why = 0, "the Rényi bound of the run inside, amplified as a whole, is the least"
		if err := try(r, err); err != nil {
			return Result{}, err
		}
	}
	if long := (*tooLongError)(nil); !asked && errors.As(failed, &long) {
		return Result{}, fmt.Errorf("%w, and no bound that adds up covers all of them", failed)
	} else if !asked {
		return Result{}, failed
	}
	return best, nil
}

// tooLongError reports that an event composes too many different events.
type tooLongError struct{ n int }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the event composes %d different events, more than the %d that are composed numerically in bounded time: account for it in parts, or give equal events equal parameters", e.n, maxTerms)
}

// maxTerms is up to how many different events are composed numerically: the time that
// takes grows with their number. Beyond, [Auto] has the bounds that only add up.
const maxTerms = 64

// differing counts the different events that numerical composition meets. Gaussians count
// as one: they compose to a Gaussian. Parallel parts are composed each by itself.
func differing(e privacy.Event) int {
	terms, err := privacy.Terms(e)
	if err != nil {
		return 0 // the accountant that evaluates it reports why it cannot
	}
	n, gaussian := 0, 0
	for _, t := range terms {
		switch of := t.Event.(type) {
		case privacy.Gaussian:
			gaussian = 1
		case privacy.Poisson:
			n += max(1, differing(of.Event))
		case privacy.FixedSize:
			n += max(1, differing(of.Event))
		case privacy.Parallel:
			largest := 1
			for _, part := range of.Events {
				largest = max(largest, differing(part))
			}
			n += largest
		default:
			n++
		}
	}
	return n + gaussian
}
