// Package privacytest generates privacy events for property tests of the
// packages that read them, and tests samplers against their laws.
package privacytest

import (
	"math"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/privacy"
)

// Events generates valid events of all kinds, nested a few levels deep.
func Events() *rapid.Generator[privacy.Event] { return events(3) }

// Leaves generates the events that have no events inside, nonprivate excepted.
func Leaves() *rapid.Generator[privacy.Event] {
	noise := rapid.Float64Range(0.2, 50)
	loss := rapid.Float64Range(0, 3)
	failure := rapid.OneOf(rapid.Just(0.0), rapid.Custom(func(t *rapid.T) float64 {
		return math.Pow(10, -rapid.Float64Range(0.1, 12).Draw(t, "log δ"))
	}))
	return rapid.Custom(func(t *rapid.T) privacy.Event {
		switch rapid.IntRange(0, 6).Draw(t, "leaf") {
		case 0:
			return privacy.Gaussian{Sigma: noise.Draw(t, "sigma")}
		case 1:
			return privacy.Laplace{B: noise.Draw(t, "b")}
		case 2:
			return privacy.Pure{Epsilon: loss.Draw(t, "epsilon")}
		case 3:
			return privacy.BoundedRange{C: loss.Draw(t, "c")}
		case 4:
			return privacy.RandomizedResponse{Epsilon: loss.Draw(t, "epsilon"), K: rapid.Int64Range(2, 9).Draw(t, "k")}
		case 5:
			return privacy.Approx{Epsilon: loss.Draw(t, "epsilon"), Delta: failure.Draw(t, "delta")}
		default:
			return privacy.ZCDP{Rho: loss.Draw(t, "rho")}
		}
	})
}

func events(depth int) *rapid.Generator[privacy.Event] {
	return rapid.Custom(func(t *rapid.T) privacy.Event {
		if depth == 0 || rapid.IntRange(0, 2).Draw(t, "stop") == 0 {
			if rapid.IntRange(0, 15).Draw(t, "nonprivate") == 0 {
				return privacy.NonPrivate{}
			}
			return Leaves().Draw(t, "leaf")
		}
		inner := events(depth - 1)
		switch rapid.IntRange(0, 4).Draw(t, "node") {
		case 0:
			var parts []privacy.Event
			for range rapid.IntRange(0, 3).Draw(t, "parts") {
				parts = append(parts, inner.Draw(t, "part"))
			}
			return privacy.Compose{Events: parts}
		case 1:
			parts := []privacy.Event{inner.Draw(t, "part")}
			for range rapid.IntRange(0, 2).Draw(t, "parts") {
				parts = append(parts, inner.Draw(t, "part"))
			}
			return privacy.Parallel{Events: parts}
		case 2:
			return privacy.Repeat{N: rapid.Int64Range(1, 200).Draw(t, "n"), Event: inner.Draw(t, "event")}
		case 3:
			return privacy.Poisson{Q: rapid.Float64Range(0, 1).Draw(t, "q"), Event: inner.Draw(t, "event")}
		default:
			n := rapid.Int64Range(1, 5000).Draw(t, "n")
			return privacy.FixedSize{N: n, M: rapid.Int64Range(1, n).Draw(t, "m"), Event: inner.Draw(t, "event")}
		}
	})
}
