package decode

import (
	"math"
	"math/bits"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
)

// cloud is the prompts' vectors of [probabilities] as points. All its numbers are whole
// steps of 2^-mass, and all its arithmetic is exact: a point has no negative entry and
// its entries add up to a whole at most, so the squared distance of two is at most
// 2·2^(2·mass), which an int64 holds for any number of candidates.
type cloud struct {
	points [][]int64
	// times each point is there. Prompts without records are one point.
	times []int64
	// size is the number of prompts and width that of candidates: public numbers.
	size  int64
	width int
	// apart are the squared distances of all pairs, made once for a token.
	apart [][]int64
}

// wide is a radius of √2/2 in steps, rounded up: half of how far two points of a cloud
// can be apart (see [probabilities]).
var wide = int64(math.Ceil(math.Ldexp(mechanism.Root2/2, mass)))

func newCloud(v View) cloud {
	c := cloud{size: int64(v.prompts()), width: len(v.Public)}
	if v.Empty > 0 {
		c.points, c.times = append(c.points, probabilities(v.Public, nil)), append(c.times, int64(v.Empty))
	}
	for _, prompt := range v.Prompts {
		c.points, c.times = append(c.points, probabilities(prompt, nil)), append(c.times, 1)
	}
	c.apart = make([][]int64, len(c.points))
	for i := range c.points {
		c.apart[i] = make([]int64, len(c.points))
		for j := range i {
			c.apart[i][j] = apart(c.points[i], c.points[j])
			c.apart[j][i] = c.apart[i][j]
		}
	}
	return c
}

// apart is the squared distance of two points.
func apart(a, b []int64) int64 {
	var sum int64
	for i, x := range a {
		d := x - b[i]
		sum += d * d
	}
	return sum
}

// agreement adds up the t largest numbers of neighbours that points have within a
// radius, themselves included, none counted above t.
//
// Exchanging one point moves it by at most 2t: it adds one neighbour to each of t points,
// or takes one away, and its own number changes by less than t (Nissim, Stemmer and
// Vadhan 2016, "Locating a small cluster privately", on the mean of these, with 2).
func (c cloud) agreement(radius, t int64) int64 {
	type point struct{ neighbours, times int64 }
	counts := make([]point, len(c.points))
	for i, row := range c.apart {
		counts[i].times = c.times[i]
		for j, d := range row {
			if d <= radius*radius {
				counts[i].neighbours += c.times[j]
			}
		}
		counts[i].neighbours = min(counts[i].neighbours, t)
	}
	slices.SortFunc(counts, func(a, b point) int { return int(b.neighbours - a.neighbours) })
	var sum int64
	for left, i := t, 0; left > 0 && i < len(counts); i++ {
		n := min(left, counts[i].times)
		sum += n * counts[i].neighbours
		left -= n
	}
	return sum
}

// covered counts the points in a ball. Exchanging one point moves it by 1 at most.
func (c cloud) covered(centre []int64, radius int64) int64 {
	var n int64
	for i, p := range c.points {
		if apart(p, centre) <= radius*radius {
			n += c.times[i]
		}
	}
	return n
}

// sum adds up the points. Exchanging one moves it by at most √2 in ℓ2, which is no more
// than twice [wide].
func (c cloud) sum() []int64 {
	sum := make([]int64, c.width)
	for i, p := range c.points {
		for k, x := range p {
			sum[k] += c.times[i] * x
		}
	}
	return sum
}

// projected adds up the points, those outside of a ball moved to it. Exchanging one
// moves the sum by at most twice the radius in ℓ2, exactly, for all lie in the ball.
func (c cloud) projected(centre []int64, radius int64) []int64 {
	sum := make([]int64, len(centre))
	var buffer []int64
	for i, p := range c.points {
		buffer = into(p, centre, radius, buffer)
		for k, x := range buffer {
			sum[k] += c.times[i] * x
		}
	}
	return sum
}

// into moves a point straight towards a centre until it is in the ball.
//
// Proof that it is: with d the way from the centre, |d| its length and s = ⌈|d|⌉, the new
// way is d·radius/s with each entry rounded towards zero, so its length is at most
// |d|·radius/s ≤ radius. Entries of d and the radius are below 2^31: products fit.
func into(p, centre []int64, radius int64, dst []int64) []int64 {
	dst = append(dst[:0], p...)
	far := apart(p, centre)
	if far <= radius*radius {
		return dst
	}
	s := rootUp(far)
	for k, x := range p {
		dst[k] = centre[k] + (x-centre[k])*radius/s
	}
	return dst
}

// rootUp is the least whole number whose square is not below x, for 0 ≤ x ≤ 2^62.
func rootUp(x int64) int64 {
	s := int64(math.Sqrt(float64(x)))
	for s*s < x {
		s++
	}
	for s > 0 && (s-1)*(s-1) >= x {
		s--
	}
	return s
}

// normalise makes a point of a noisy sum: negative entries become none, and the rest is
// scaled to a whole, rounded down.
func normalise(noisy []int64) []int64 {
	const whole = 1 << mass
	var sum uint64
	for _, n := range noisy {
		sum += uint64(max(0, n))
	}
	out := make([]int64, len(noisy))
	for i, n := range noisy {
		if sum == 0 {
			out[i] = whole / int64(len(noisy))
			continue
		}
		high, low := bits.Mul64(uint64(max(0, n)), whole)
		share, _ := bits.Div64(high, low, sum)
		out[i] = int64(share)
	}
	return out
}
