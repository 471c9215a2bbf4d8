package global

import (
	"math"

	"github.com/sotto-dp/sotto/privacy"
)

// Event is what a profile costs, whatever the rows are. The proof is in the package
// comment; the names of its parts are given here.
func (s Settings) Event() privacy.Event {
	s = s.WithDefaults()
	if s.Noise == None {
		return privacy.NonPrivate{}
	}
	var all []privacy.Event
	if s.Count > 0 {
		all = append(all, s.counting(s.Count))
	}
	for _, c := range s.Columns {
		switch c.Statistic {
		case Mean, Moments:
			all = append(all, s.summing(c.Multiplier))
			if c.Statistic == Moments {
				all = append(all, s.summing(c.Squares))
			}
			if c.Count > 0 {
				all = append(all, s.counting(c.Count))
			}
		case Mode, Histogram:
			if c.drawn() {
				all = append(all, s.drawing(c.Range))
			} else {
				all = append(all, s.counting(c.Multiplier))
			}
		case Quantiles:
			for range c.Quantiles {
				all = append(all, s.choosing(c.Range))
			}
		}
	}
	var inner privacy.Event = privacy.Compose{Events: all}
	if s.Rate < 1 {
		inner = privacy.Poisson{Q: s.Rate, Event: inner}
	}
	return privacy.Canonical(inner)
}

// counting is the event of one count or histogram, of all groups together ("Counts" in
// the package comment).
func (s Settings) counting(m float64) privacy.Event {
	switch {
	case s.Noise == Gaussian && s.Adjacency == privacy.ReplaceOne:
		return privacy.Gaussian{Sigma: down(m / math.Sqrt2)}
	case s.Noise == Gaussian:
		return privacy.Gaussian{Sigma: m}
	case s.Adjacency == privacy.ReplaceOne:
		return privacy.Pure{Epsilon: up(2 / m)}
	case s.rows() > 1:
		return privacy.Pure{Epsilon: up(1 / m)}
	}
	return privacy.Laplace{B: m}
}

// summing is the event of one sum ("Sums").
func (s Settings) summing(m float64) privacy.Event {
	if s.Noise == Gaussian && s.Adjacency == privacy.ReplaceOne {
		return privacy.Gaussian{Sigma: m / 2}
	}
	return s.counting(m)
}

// choosing is the event of one quantile ("Quantiles").
func (s Settings) choosing(c float64) privacy.Event {
	if s.Adjacency == privacy.ReplaceOne {
		return privacy.BoundedRange{C: 2 * c}
	}
	return privacy.BoundedRange{C: c}
}

// drawing is the event of one mode that is drawn ("Modes").
func (s Settings) drawing(c float64) privacy.Event {
	if s.Noise == Gaussian {
		return s.choosing(c)
	}
	if s.Adjacency == privacy.ReplaceOne {
		c *= 2
	}
	return privacy.Pure{Epsilon: c}
}

// up and down are the next float64s, for quotients that rounding may have put on the
// wrong side.
func up(x float64) float64   { return math.Nextafter(x, math.Inf(1)) }
func down(x float64) float64 { return math.Nextafter(x, 0) }
