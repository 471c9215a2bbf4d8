package global

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// Sums leave in units of 2^-20 of what one row can do, so that noise of any size fits:
// values that are whole multiples of a unit apart stay as far apart when both are rounded
// down to it (noise.Grid.Round), and what one row can do is a whole number of units.
const (
	unit  = 1 << 20
	shift = 10 // Steps are so many bits finer
)

// Release is a profile that may leave, with what it cost. Only [Mechanism.Release] makes
// one.
type Release struct {
	profile Profile
	event   privacy.Event
	private bool
}

// Profile is what was released.
func (r Release) Profile() Profile { return r.profile }

// Event is what it cost.
func (r Release) Event() privacy.Event { return r.event }

// Private is false where noise came of a seed, or none was added.
func (r Release) Private() bool { return r.private }

// noisy is what the mechanism lets out of one group. All that a profile says is worked
// out from it and from public things.
type noisy struct {
	count   int64
	columns []noisyColumn
}

type noisyColumn struct {
	sum, square, count int64
	counts             []int64
	quantiles          []int // cells of the grid
	mode               int   // if it was drawn
}

// Release adds noise to sums and returns what may be released of them. The sums are used up:
// a second release of the same rows would cost as much again. With the same key and the
// same rows it releases the same.
func (m *Mechanism) Release(s *Sums, key noise.Key) (Release, error) {
	if s.m != m {
		return Release{}, errMerge
	}
	if s.spent {
		return Release{}, errSpent
	}
	s.spent = true
	defer clear(s.cells)
	d := drawer{m: m, key: key, made: map[[2]float64]*noise.Additive{}}
	out := Release{event: m.Event(), private: key.Private() && m.settings.Noise != None}
	for g := range m.layout.Groups() {
		n, err := d.group(g, s.cells[g*m.cells:(g+1)*m.cells])
		if err != nil {
			return Release{}, fmt.Errorf("adding noise to a profile: %w", err)
		}
		out.profile.Groups = append(out.profile.Groups, m.describe(g, n))
	}
	return out, nil
}

// drawer adds the noise. Each number has a stream of its own, named by its group, its
// column and its part.
type drawer struct {
	m    *Mechanism
	key  noise.Key
	made map[[2]float64]*noise.Additive // by multiplier and sensitivity
}

// Parts of a column that have noise of their own.
const (
	partSum = iota
	partSquare
	partCount
	partCounts
	partQuantiles
	partMode
)

func (d *drawer) group(g int, cells []int64) (noisy, error) {
	m := d.m
	out := noisy{columns: make([]noisyColumn, len(m.slots))}
	feasible := m.feasible(g)
	var err error
	if out.count, err = d.one(m.settings.Count, 1, cells[0], g, 0, partCount); err != nil {
		return out, err
	}
	for i, c := range m.settings.Columns {
		slot := m.slots[i]
		switch c.Statistic {
		case Mean, Moments:
			err = d.sums(&out.columns[i], i, g, cells)
		case Mode, Histogram:
			counts := cells[slot.histogram : slot.histogram+slot.cells]
			if c.drawn() {
				out.columns[i].mode, err = d.mode(c, counts, feasible[i], g, i+1)
			} else {
				out.columns[i].counts, err = d.all(c.Multiplier, 1, counts, g, i+1, partCounts)
			}
		case Quantiles:
			out.columns[i].quantiles, err = d.quantiles(c, cells[slot.histogram:slot.histogram+slot.cells], g, i+1)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (d *drawer) sums(to *noisyColumn, i, g int, cells []int64) error {
	c, slot := d.m.settings.Columns[i], d.m.slots[i]
	var err error
	if to.sum, err = d.one(c.Multiplier, unit, d.m.sum(i, cells[slot.sum], cells[0]), g, i+1, partSum); err != nil {
		return err
	}
	if to.count, err = d.one(c.Count, 1, cells[0], g, i+1, partCount); err != nil {
		return err
	}
	if c.Statistic == Moments {
		to.square, err = d.one(c.Squares, unit, coarse(cells[slot.square]), g, i+1, partSquare)
	}
	return err
}

// one is a number with noise. A number that nobody asked for, with the multiplier 0, does
// not leave.
func (d *drawer) one(multiplier, sensitivity float64, value int64, name ...int) (int64, error) {
	if multiplier == 0 && d.m.settings.Noise != None {
		return 0, nil
	}
	out, err := d.all(multiplier, sensitivity, []int64{value}, name...)
	if err != nil {
		return 0, err
	}
	return out[0], nil
}

// all are numbers, of which one row moves one, with noise on each.
func (d *drawer) all(multiplier, sensitivity float64, values []int64, name ...int) ([]int64, error) {
	out := append([]int64(nil), values...)
	if d.m.settings.Noise == None {
		return out, nil
	}
	key := [2]float64{multiplier, sensitivity * float64(d.m.settings.rows())}
	a, made := d.made[key]
	if !made {
		o := noise.Options{Multiplier: key[0], Sensitivity: key[1]}
		var err error
		if d.m.settings.Noise == Gaussian {
			a, err = noise.NewGaussian(o)
		} else {
			a, err = noise.NewLaplace(o)
		}
		if err != nil {
			return nil, err
		}
		d.made[key] = a
	}
	return out, a.AddTo(d.stream(name), out)
}

func (d *drawer) stream(name []int) *noise.Stream {
	indices := make([]uint64, len(name))
	for i, n := range name {
		indices[i] = uint64(n)
	}
	return d.key.Stream(noising, indices...)
}

// coarse rounds a sum of steps to units.
func coarse(steps int64) int64 { return (steps + 1<<(shift-1)) >> shift }

// sum is a column's sum in units: of distances from the middle of the bounds, or, if not
// centred, of the numbers themselves as shares of the larger bound. The second is worked
// out in exact fractions: a number is mid + half·steps/Steps, which is within the bounds
// for any steps that are within ±Steps.
func (m *Mechanism) sum(i int, steps, count int64) int64 {
	if !m.settings.Uncentred {
		return coarse(steps)
	}
	c := m.schema.Columns[i]
	low, high := new(big.Rat).SetFloat64(c.Low), new(big.Rat).SetFloat64(c.High)
	largest := new(big.Rat).SetFloat64(largest(c.Low, c.High))
	if largest.Sign() == 0 {
		return 0
	}
	mid := new(big.Rat).Add(low, high)
	half := high.Sub(high, low)
	total := mid.Mul(mid, new(big.Rat).SetInt64(count))
	total.Add(total, half.Mul(half, big.NewRat(steps, table.Steps)))
	total.Mul(total, big.NewRat(unit/2, 1)) // mid and half are twice what they should be
	total.Quo(total, largest)
	total.Add(total, big.NewRat(1, 2))
	floor := new(big.Int).Div(total.Num(), total.Denom())
	return floor.Int64()
}

func largest(low, high float64) float64 { return math.Max(math.Abs(low), math.Abs(high)) }

// mode draws one of the values that the group allows, by their counts: by permute-and-flip
// (McKenna, Sheldon 2020), or, beside Gaussian noise, by the exponential mechanism, whose
// bounded range composes better with it.
func (d *drawer) mode(c Column, counts []int64, k class, g, i int) (int, error) {
	var codes []int
	var scores []int64
	for code, n := range counts {
		if k.allows(code) {
			codes, scores = append(codes, code), append(scores, n)
		}
	}
	if d.m.settings.Noise == None {
		return codes[best(scores)], nil
	}
	selector, err := noise.NewSelector(noise.SelectorOptions{Rate: down(c.Range / float64(d.m.settings.rows()))})
	if err != nil {
		return 0, err
	}
	draw := selector.PermuteAndFlip
	if d.m.settings.Noise == Gaussian {
		draw = selector.Softmax
	}
	at, err := draw(d.stream([]int{g, i, partMode}), scores)
	if err != nil {
		return 0, err
	}
	return codes[at], nil
}

// quantiles choose cells of the grid by the exponential mechanism (McSherry, Talwar 2007).
func (d *drawer) quantiles(c Column, counts []int64, g, i int) ([]int, error) {
	var out []int
	for k, q := range c.Quantiles {
		share := int64(math.Round(q * quantileUnits))
		scores := rankScores(counts, share)
		if d.m.settings.Noise == None {
			out = append(out, best(scores))
			continue
		}
		// One row moves a score by at most the larger share, up or down, so that any two
		// of them move apart by at most twice that.
		width := 2 * float64(max(share, quantileUnits-share)) * float64(d.m.settings.rows())
		selector, err := noise.NewSelector(noise.SelectorOptions{Rate: down(c.Range / width)})
		if err != nil {
			return nil, err
		}
		at, err := selector.Softmax(d.stream([]int{g, i, partQuantiles, k}), scores)
		if err != nil {
			return nil, err
		}
		out = append(out, at)
	}
	return out, nil
}

// rankScores returns how well each cell serves as a quantile: minus the distance between the
// rank that is wanted, a share of the rows, and the ranks of the cell's rows. In units of
// 1/quantileUnits of a row.
func rankScores(counts []int64, share int64) []int64 {
	rows := int64(0)
	for _, n := range counts {
		rows += n
	}
	target, below := share*rows, int64(0)
	scores := make([]int64, len(counts))
	for i, n := range counts {
		scores[i] = -max(0, target-quantileUnits*(below+n), quantileUnits*below-target)
		below += n
	}
	return scores
}

// best is the first of the largest.
func best(scores []int64) int { return slices.Index(scores, slices.Max(scores)) }
