package forecast

import (
	"math"
	"slices"
)

// Fit is a table with what was fitted to it.
type Fit struct {
	Curves []Curve
	// Half is the weight at which half of the gain is left, and Gains what there is to gain
	// on each curve, in points.
	Half  float64
	Gains []float64
	// Deviation of single runs from their curve, in points.
	Deviation float64
}

// NewFit fits curves by least squares; nil if there are none. The half weight is the same for
// all of them: few have enough runs for one of their own.
func NewFit(curves []Curve) *Fit {
	if len(curves) == 0 {
		return nil
	}
	var best *Fit
	for k := range 81 { // h from 3 to 300
		f := fitAt(3*math.Pow(100, float64(k)/80), curves)
		if best == nil || f.Deviation < best.Deviation {
			best = f
		}
	}
	return best
}

// fitAt fits curves with a half weight.
func fitAt(half float64, curves []Curve) *Fit {
	f := &Fit{Curves: curves, Half: half}
	squares, runs := 0., 0
	for _, c := range curves {
		g, s, n := f.gain(c)
		f.Gains = append(f.Gains, g)
		squares += s
		runs += n
	}
	f.Deviation = math.Sqrt(squares / float64(max(1, runs-len(curves))))
	return f
}

// only is the fit of some of the curves, with the half weight of all.
func (f *Fit) only(wanted func(Curve) bool) *Fit {
	var some []Curve
	for _, c := range f.Curves {
		if wanted(c) {
			some = append(some, c)
		}
	}
	return fitAt(f.Half, some)
}

// Kept returns the share of the gain that a weight leaves.
func (f *Fit) Kept(weight float64) float64 { return weight / (weight + f.Half) }

// gain fits one curve, and returns the squares that are left, over all its runs.
func (f *Fit) gain(c Curve) (gain, squares float64, runs int) {
	var xy, xx float64
	for _, r := range c.Runs {
		x := f.Kept(r.Weight)
		xy += float64(r.Seeds) * x * (r.Score - c.Own)
		xx += float64(r.Seeds) * x * x
	}
	if xx > 0 {
		gain = xy / xx
	}
	for _, r := range c.Runs {
		off := r.Score - c.Own - gain*f.Kept(r.Weight)
		squares += float64(r.Seeds)*off*off + float64(max(0, r.Seeds-1))*r.Deviation*r.Deviation
		runs += r.Seeds
	}
	return gain, squares, runs
}

// over returns what chosen prompts gain over a reference on each curve, at a weight.
func (f *Fit) over(of reference, weight float64) []float64 {
	var out []float64
	for i, c := range f.Curves {
		if base, ok := of(c); ok {
			out = append(out, c.Own-base+f.Gains[i]*f.Kept(weight))
		}
	}
	return out
}

// reference is what is compared with, if it was measured.
type reference func(Curve) (float64, bool)

func none(c Curve) (float64, bool) { return c.None, true }
func own(c Curve) (float64, bool)  { return c.Own, true }
func real(c Curve) (float64, bool) { return c.Real, c.Real > 0 }

// CoverageCount counts settings that were measured, and those whose score lies within what was
// forecast for them over no examples, and over model-generated ones.
type CoverageCount struct{ Settings, None, Own int }

// Coverage leaves out one data set after the other and forecasts it from the others: with the
// same model, or as a guess with all other models.
func Coverage(curves []Curve, guess bool) CoverageCount {
	return coverage(curves, guess, func(Curve) bool { return true })
}

// coverage leaves out those of the wanted curves.
func coverage(curves []Curve, guess bool, wanted func(Curve) bool) (out CoverageCount) {
	for _, c := range curves {
		if !wanted(c) {
			continue
		}
		f := NewFit(slices.DeleteFunc(slices.Clone(curves), func(o Curve) bool { return o.Task == c.Task }))
		if f == nil {
			continue
		}
		f = f.only(func(o Curve) bool { return written(o.Kind) == written(c.Kind) && (o.Model == c.Model) != guess })
		if len(f.Curves) < 2 {
			continue
		}
		for _, r := range c.Runs {
			out.Settings++
			if f.interval(none, r.Weight).holds(r.Score - c.None) {
				out.None++
			}
			if f.interval(own, r.Weight).holds(r.Score - c.Own) {
				out.Own++
			}
		}
	}
	return out
}
