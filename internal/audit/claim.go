package audit

import (
	"math"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

// Claim is what a mechanism is said to be: an event, whose whole curve of (ε, δ) it then keeps, and
// the δ at which ε is reported.
type Claim struct {
	Event     privacy.Event
	Adjacency privacy.Adjacency
	Delta     float64
}

// Conclusion compares runs with a claim.
type Conclusion struct {
	// Claimed is the ε of the claim, +Inf if it has none.
	Claimed float64
	// Lower bounds ε from below, whatever the mechanism is.
	Lower Bound
	// Shaped is the ε that a claim of this shape has to state at least: the same event with noise of
	// another size, Strength times as strong, which the errors just do not refute. It is tighter, since
	// errors at one threshold say something about all, and it bounds the mechanism's own ε where the event
	// is what the mechanism does and no more, as with Gaussian noise.
	Shaped, Strength float64
	// Refuted: the errors cannot be those of a mechanism that keeps the claim. At is an ε at which
	// the claim's own δ is exceeded.
	Refuted bool
	At      float64
}

// Judge compares runs with a claim. Decisions are chosen on the first half of the runs, and their
// errors are counted on the second: so whatever the mechanism is, one that keeps its claim is
// refuted with a probability of 1 - confidence at most, and so is Lower above its ε. These are two
// statements, which may be about two decisions.
func Judge(with, without []float64, c Claim, confidence float64) (Conclusion, error) {
	var v Conclusion
	var err error
	if v.Claimed, err = c.Epsilon(); err != nil {
		return v, err
	}
	if v.Lower, err = Many(with, without, c.Delta, confidence); err != nil {
		return v, err
	}
	best, err := c.sharpest(with, without, confidence)
	if err != nil {
		return v, err
	}
	refuted := func(strength float64) (bool, error) {
		ok, _, err := c.at(strength).refuted(best)
		return ok, err
	}
	if v.Refuted, v.At, err = c.refuted(best); err != nil {
		return v, err
	}
	if v.Strength, err = strongest(refuted); err != nil || v.Strength == 0 {
		return v, err
	}
	shaped, err := quick.Epsilon(c.at(v.Strength).Event, c.Adjacency, c.Delta)
	// What is refuted is at least that strong: the lower end of its ε is what follows.
	v.Shaped = shaped.Lower
	return v, err
}

// strongest finds how strong a mechanism is at least: strengths below it are refuted.
func strongest(refuted func(strength float64) (bool, error)) (float64, error) {
	const weakest, largest = 1.0 / 64, 64
	if ok, err := refuted(weakest); !ok || err != nil {
		return 0, err
	}
	low, high := weakest, 2*weakest
	for high < largest {
		ok, err := refuted(high)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		low, high = high, 2*high
	}
	for high > 1.005*low && high < largest {
		middle := math.Sqrt(low * high)
		ok, err := refuted(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// errorsOf are bounds on how often an adversary is wrong.
type errorsOf struct{ alarms, misses float64 }

// sharpest finds the errors that say most about mechanisms of the claim's shape. Two decisions are
// tried on the first half, the best for Gaussian noise and the best for none in particular.
func (c Claim) sharpest(with, without []float64, confidence float64) (errorsOf, error) {
	n, m := len(with)/2, len(without)/2
	mu := func(alpha, beta, _ float64) float64 { return normalQuantile(1-alpha) - normalQuantile(beta) }
	var best decision
	largest := -1.
	for _, rank := range []objective{mu, epsilon} {
		d := choose(with[:n], without[:m], c.Delta, confidence, rank)
		seen := measured(d, with[:n], without[:m], confidence)
		strength, err := strongest(func(s float64) (bool, error) {
			ok, _, err := c.at(s).refuted(seen)
			return ok, err
		})
		if err != nil {
			return errorsOf{}, err
		}
		if strength > largest {
			largest, best = strength, d
		}
	}
	return measured(best, with[n:], without[m:], confidence), nil
}

// measured bounds the errors of a decision from above.
func measured(d decision, with, without []float64, confidence float64) errorsOf {
	alarms, misses := d.errors(with, without, confidence)
	return errorsOf{alarms.High, misses.High}
}

// quick is an accountant for many questions: its upper ends are a little higher than they have to be,
// and its lower ends lower, so that a little less is refuted.
var quick = accountant.Auto{Tolerance: 0.01}

// refuted reports whether a mechanism of the claim cannot have errors as small, and at which ε.
func (c Claim) refuted(e errorsOf) (bool, float64, error) {
	claimed, err := quick.Epsilon(c.Event, c.Adjacency, c.Delta)
	if err != nil {
		return false, 0, err
	}
	for _, pair := range [][2]float64{{e.alarms, e.misses}, {e.misses, e.alarms}} {
		hit, alarm := 1-pair[1], pair[0]
		if !(hit > alarm) || alarm == 0 {
			continue
		}
		// Below 0 and above the logarithm of their ratio no ε says anything.
		largest := math.Log(hit / alarm)
		const parts = 16
		for i := range parts + 1 {
			at := largest * float64(i) / parts
			if i == parts {
				if at = claimed.Upper; !(at < largest) {
					break
				}
			}
			d, err := quick.Delta(c.Event, c.Adjacency, at)
			if err != nil {
				return false, 0, err
			}
			if hit-math.Exp(at)*alarm > d.Upper {
				return true, at, nil
			}
		}
	}
	return false, 0, nil
}

// at is a claim of mechanisms that are stronger by a factor: whose noise is that much smaller.
func (c Claim) at(strength float64) Claim {
	c.Event = Stronger(c.Event, strength)
	return c
}

// Stronger makes an event of one with less noise: by a factor, with draws and numbers of steps as they
// are.
func Stronger(e privacy.Event, by float64) privacy.Event {
	all := func(events []privacy.Event) []privacy.Event {
		out := make([]privacy.Event, len(events))
		for i, e := range events {
			out[i] = Stronger(e, by)
		}
		return out
	}
	switch e := e.(type) {
	case privacy.Gaussian:
		return privacy.Gaussian{Sigma: e.Sigma / by}
	case privacy.Laplace:
		return privacy.Laplace{B: e.B / by}
	case privacy.Pure:
		return privacy.Pure{Epsilon: e.Epsilon * by}
	case privacy.Approx:
		return privacy.Approx{Epsilon: e.Epsilon * by, Delta: e.Delta}
	case privacy.BoundedRange:
		return privacy.BoundedRange{C: e.C * by}
	case privacy.RandomizedResponse:
		return privacy.RandomizedResponse{Epsilon: e.Epsilon * by, K: e.K}
	case privacy.ZCDP:
		return privacy.ZCDP{Rho: e.Rho * by * by}
	case privacy.Compose:
		return privacy.Compose{Events: all(e.Events)}
	case privacy.Parallel:
		return privacy.Parallel{Events: all(e.Events)}
	case privacy.Repeat:
		return privacy.Repeat{N: e.N, Event: Stronger(e.Event, by)}
	case privacy.Poisson:
		return privacy.Poisson{Q: e.Q, Event: Stronger(e.Event, by)}
	case privacy.FixedSize:
		return privacy.FixedSize{N: e.N, M: e.M, Event: Stronger(e.Event, by)}
	}
	return e
}

// Epsilon is what the claim says at its δ.
func (c Claim) Epsilon() (float64, error) {
	claimed, err := accountant.Auto{}.Epsilon(c.Event, c.Adjacency, c.Delta)
	return claimed.Upper, err
}
