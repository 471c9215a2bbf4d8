package stat

import (
	"fmt"
	"math"
	"slices"
)

// Noisy are numbers of right and wrong answers, each with Laplace noise, as they are released
// of records that nobody may see (package internal/private/measure).
type Noisy struct {
	Right, Wrong int64
	// Scale of the noise, and Cells, how many noisy numbers each of the two is a sum of; 1
	// by default.
	Scale float64
	Cells int
	// Level of the interval, 0.95.
	Level float64
}

// NoisyPair are two prompts on the same records: how often both are right, only one of them,
// or neither, each with Laplace noise of a Scale.
type NoisyPair struct {
	Both, First, Second, Neither int64
	Scale                        float64
	// Level of the interval, 0.95.
	Level float64
}

// Estimate is a value with its interval.
type Estimate struct {
	Value float64 `json:"value"`
	Interval
}

// How the probability of an interval to miss is divided: the number of records is private and
// so a nuisance, known from noisy numbers only; and so is, of a comparison, how often two
// prompts differ. The rest is for what is asked.
const (
	forNumber = 0.05
	forDiffer = 0.15
)

// Share estimates the share of right answers in the population of records, with an interval
// that covers both the noise and the sampling of records.
//
// The interval holds every share p that a test does not reject. For p the sum of what
// records differ from it by, right·(1 − p) − wrong·p, follows a binomial law about its
// mean and of the noise of each number, whose law is known: the test's probability is
// exact, given the number m of records. That is not known; the law is spread the more the
// larger m is, and the test takes the largest m that the noisy numbers leave possible
// except with a twentieth of the probability to miss. Rounding to whole numbers is allowed
// for. Conclusions between right and wrong are spread less than right and wrong ones of the
// same mean, so that the interval holds for their mean too; it is too wide then. So it is
// where nearly all records were asked, if only these are of interest.
func (n Noisy) Share() (Estimate, error) {
	if n.Cells == 0 {
		n.Cells = 1
	}
	miss, err := checkNoisy(n.Scale, n.Level)
	if err != nil {
		return Estimate{}, err
	}
	if n.Cells < 1 {
		return Estimate{}, fmt.Errorf("a number is the sum of %d noisy ones: give 1 or more", n.Cells)
	}
	total := float64(n.Right) + float64(n.Wrong)
	out := Estimate{Value: 0.5, Interval: Interval{0, 1}}
	if total > 0 {
		out.Value = min(1, max(0, float64(n.Right)/total))
	}
	side := miss * (1 - forNumber) / 2
	upper := n.upper(total, miss*forNumber)
	out.Low = n.end(total, upper, side, false)
	out.High = n.end(total, upper, side, true)
	out.Low, out.High = min(out.Low, out.Value), max(out.High, out.Value)
	return out, nil
}

// upper returns how many records there are at most, except with a probability.
func (n Noisy) upper(total, miss float64) float64 {
	noise := newLaplaces(slices.Repeat([]float64{n.Scale}, 2*n.Cells))
	return math.Ceil(max(1, total+float64(2*n.Cells)/2+noise.quantile(miss)))
}

// end returns the lower or the upper end of an interval whose other side is open.
func (n Noisy) end(total, maxTotal, miss float64, upper bool) float64 {
	if upper { // the same with right and wrong exchanged
		n.Right, n.Wrong = n.Wrong, n.Right
		return 1 - n.end(total, maxTotal, miss, false)
	}
	if total <= 0 {
		return 0
	}
	// Of small p the test rejects, of large ones not.
	low, _ := Bisect(0, 1, 30, func(p float64) bool { return !(n.tail(p, maxTotal) > miss) })
	return low
}

// tail returns the probability of as many right answers or more, where the share is p.
func (n Noisy) tail(p, m float64) float64 {
	scales := slices.Repeat([]float64{n.Scale * (1 - p)}, n.Cells)
	scales = append(scales, slices.Repeat([]float64{n.Scale * p}, n.Cells)...)
	noise := newLaplaces(scales)
	seen := float64(n.Right)*(1-p) - float64(n.Wrong)*p - float64(n.Cells)/2
	return binomialWith(noise, m, p, seen)
}

// binomialWith returns the probability that a binomial number, less its mean, with noise is
// at least x. What is further from the mean than 8 standard deviations and 20 is left out:
// it has a probability below 1e-14. Beyond a variance of 2,500 the normal law does.
func binomialWith(noise laplaces, m, p, x float64) float64 {
	mean, variance := m*p, m*p*(1-p)
	if variance > 2500 {
		return normalWith(noise, variance, x)
	}
	if variance == 0 {
		return noise.tail(x)
	}
	reach := 8*math.Sqrt(variance) + 20
	k := max(0, math.Floor(mean-reach))
	log := logGamma(m+1) - logGamma(k+1) - logGamma(m-k+1) + k*math.Log(p) + (m-k)*math.Log1p(-p)
	odds := math.Log(p) - math.Log1p(-p)
	sum := 0.0
	for ; k <= min(m, mean+reach); k++ {
		sum += math.Exp(log) * noise.tail(x-(k-mean))
		log += math.Log(m-k) - math.Log(k+1) + odds
	}
	return sum
}

// Difference estimates how much larger the share of right answers is with the first prompt
// than with the second, as [Noisy.Share] does. Its test takes the normal law for the sum over
// records, whose variance it bounds by how often the prompts differ at most.
func (n NoisyPair) Difference() (Estimate, error) {
	miss, err := checkNoisy(n.Scale, n.Level)
	if err != nil {
		return Estimate{}, err
	}
	differ := Noisy{Right: n.First + n.Second, Wrong: n.Both + n.Neither, Scale: n.Scale, Cells: 2}
	total := float64(differ.Right) + float64(differ.Wrong)
	out := Estimate{Interval: Interval{-1, 1}}
	if total <= 0 {
		return out, nil
	}
	out.Value = min(1, max(-1, float64(n.First-n.Second)/total))
	upper := differ.upper(total, miss*forNumber)
	often := differ.end(total, upper, miss*forDiffer, true)
	side := miss * (1 - forNumber - forDiffer) / 2
	out.Low = n.end(upper, often, side)
	n.First, n.Second = n.Second, n.First
	out.High = -n.end(upper, often, side)
	out.Low, out.High = min(out.Low, out.Value), max(out.High, out.Value)
	return out, nil
}

// end returns the lower end of an interval whose other side is open.
func (n NoisyPair) end(m, often, miss float64) float64 {
	low, _ := Bisect(-1, 1, 30, func(d float64) bool {
		noise := newLaplaces([]float64{n.Scale * math.Abs(d), n.Scale * math.Abs(d), n.Scale * math.Abs(1-d), n.Scale * math.Abs(1+d)})
		seen := float64(n.First)*(1-d) - float64(n.Second)*(1+d) - float64(n.Both+n.Neither)*d
		seen -= (2*math.Abs(d) + (1 - d) + (1 + d)) / 2
		variance := m * max(0, max(often, math.Abs(d))-d*d)
		return !(normalWith(noise, variance, seen) > miss)
	})
	return low
}

// normalWith returns the probability that a normal number with mean 0 and noise is at least
// x, by steps of an eighth of its standard deviation.
func normalWith(noise laplaces, variance, x float64) float64 {
	const steps, reach = 8, 8
	sd := math.Sqrt(variance)
	sum := 0.0
	for i := -steps * reach; i < steps*reach; i++ {
		from, to := float64(i)/steps, float64(i+1)/steps
		sum += (normal(to) - normal(from)) * noise.tail(x-sd*to) // to: not too small
	}
	return min(1, sum)
}

func checkNoisy(scale, level float64) (miss float64, err error) {
	o, err := Options{Level: level}.check()
	if err != nil {
		return 0, err
	}
	if !(scale > 0) || math.IsInf(scale, 1) {
		return 0, fmt.Errorf("noise of scale %v: give one above 0", scale)
	}
	return 1 - o.Level, nil
}

// laplaces are the law of a sum of independent Laplace numbers of mean 0: for x ≥ 0 the
// probability of at least x is Σ w_j·exp(−x/a_j)/2 with w_j = Π a_j²/(a_j² − a_i²), by
// partial fractions of Π 1/(1 − a_j²s²). Scales that are equal are moved apart, upwards, by a
// thousandth each.
type laplaces struct{ scales, weights []float64 }

func newLaplaces(scales []float64) laplaces {
	slices.Sort(scales)
	largest := scales[len(scales)-1]
	var l laplaces
	for _, a := range scales {
		if a < 1e-6*largest || a == 0 {
			continue // too small to be seen beside the largest
		}
		if n := len(l.scales); n > 0 {
			a = max(a, l.scales[n-1]*1.001)
		}
		l.scales = append(l.scales, a)
	}
	for j, a := range l.scales {
		w := 1.0
		for i, b := range l.scales {
			if i != j {
				w *= a * a / ((a - b) * (a + b))
			}
		}
		l.weights = append(l.weights, w)
	}
	return l
}

// tail returns the probability of at least x.
func (l laplaces) tail(x float64) float64 {
	if x < 0 {
		return 1 - l.tail(-x)
	}
	sum := 0.0
	for j, a := range l.scales {
		sum += l.weights[j] / 2 * math.Exp(-x/a)
	}
	return min(1, max(0, sum))
}

// quantile returns the least number that is exceeded with at most a probability.
func (l laplaces) quantile(p float64) float64 {
	low, high := 0.0, l.scales[len(l.scales)-1]
	for l.tail(high) > p {
		high *= 2
	}
	_, high = Bisect(low, high, 60, func(x float64) bool { return l.tail(x) > p })
	return high
}
