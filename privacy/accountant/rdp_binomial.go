package accountant

import "math"

// rdpBinomial is the sum over k from 2 to n of
// C(n,k)·e^{k·logQ + (n−k)·logRest + weight(k)}.
type rdpBinomial struct {
	n             int64
	logQ, logRest float64
	weight        func(k int64) float64
	// rate bounds the weights: weight(j) ≤ j·rate(k) + log 2 for all j ≤ k.
	rate func(k int64) float64
}

// rdpMaxTerms bounds the work at one order; a sum that still matters there is
// given up as +Inf, and other bounds remain.
const rdpMaxTerms = 1 << 11

// log bounds the logarithm of the sum from above.
func (s *rdpBinomial) log() float64 {
	var sum rdpLogSum
	n := float64(s.n)
	term := math.Log(n) + s.logQ + (n-1)*s.logRest
	slip := rdpEps * (n*math.Abs(s.logRest) + math.Abs(s.logQ))
	for k := int64(2); k <= s.n; k++ {
		term += math.Log((n-float64(k)+1)/float64(k)) + s.logQ - s.logRest
		slip += rdpEps / 4 * math.Abs(term)
		w := s.weight(k)
		sum.add(term + w + slip + rdpEps*math.Abs(w))
		if k >= 4 && k&(k-1) == 0 {
			if rest := s.tail(k); rest < sum.log()-36 {
				sum.add(rest)
				break
			}
		}
		if k >= rdpMaxTerms {
			return math.Inf(1)
		}
	}
	return sum.log()
}

// tail bounds the terms after the k-th, block by block (k,2k], (2k,4k], …: with
// weights at most j·e, Chernoff's bound gives for the terms from j on, x = j/n,
//
//	j·e + n·(x·(logQ − log x) + (1−x)·(logRest − log(1−x)))
//
// when x is past the mean of the tilted binomial, and else all terms together
// are (e^{logQ+e} + e^{logRest})^n.
func (s *rdpBinomial) tail(k int64) float64 {
	var sum rdpLogSum
	n := float64(s.n)
	for k < s.n {
		next := min(2*k, s.n)
		e := s.rate(next)
		x := float64(k+1) / n
		all := rdpLogAdd(s.logQ+e, s.logRest)
		if math.IsInf(e, 1) {
			return e
		}
		if math.Log(x) <= s.logQ+e-all {
			sum.add(math.Ln2 + n*all)
		} else {
			size := x*(s.logQ-math.Log(x)) + e*x
			if x < 1 {
				size += (1 - x) * (s.logRest - math.Log1p(-x))
			}
			sum.add(math.Ln2 + n*size + rdpEps*n*(math.Abs(s.logQ)+e+1))
		}
		k = next
	}
	return sum.log()
}

// rdpChord bounds the convex function K(α) = (α−1)·D_α at α = 1 + a by the
// chord between the integer orders around it; K(1) = 0.
func rdpChord(a float64, at func(n int64) float64) float64 {
	if a > 1<<40 {
		return math.Inf(1)
	}
	low := math.Floor(a)
	if a == low {
		return at(int64(low) + 1)
	}
	k := (a - low) * at(int64(low)+2)
	if low > 0 {
		k += (1 - (a - low)) * at(int64(low)+1)
	}
	return k
}

// innerMoment returns the log moment m = (k−1)·D_k of the inner curve, and
// log(e^m − 1).
func (c *rdpSampling) innerMoment(k int64) (m, excess float64) {
	for int64(len(c.moments)) <= k-2 {
		j := float64(len(c.moments) + 1)
		m := j * c.inner.at(j)
		c.moments = append(c.moments, [2]float64{m, rdpLogExpm1(m)})
	}
	return c.moments[k-2][0], c.moments[k-2][1]
}

func (c *rdpSampling) innerRate(k int64) float64 { return c.inner.at(float64(k - 1)) }

// binomial bounds log A at integer order n by the binomial sum; the terms of
// k = 0 and 1 and the weights 1 sum to 1.
func (c *rdpSampling) binomial(n int64) float64 {
	if k, ok := c.sums[n]; ok {
		return k
	}
	s := rdpBinomial{
		n: n, logQ: math.Log(c.q), logRest: math.Log1p(-c.q), rate: c.innerRate,
		weight: func(k int64) float64 {
			_, excess := c.innerMoment(k)
			return excess
		},
	}
	c.sums[n] = rdpSoftplus(s.log())
	return c.sums[n]
}

// threefold bounds the log moment under replace-one at integer order n by Wang,
// Balle, Kasiviswanathan 2019, Theorem 9.
func (c *rdpSampling) threefold(n int64) float64 {
	if k, ok := c.sums[n]; ok {
		return k
	}
	loss := rdpLogExpm1(c.inner.at(math.Inf(1)))
	s := rdpBinomial{
		n: n, logQ: math.Log(c.q), rate: c.innerRate,
		weight: func(k int64) float64 {
			m, excess := c.innerMoment(k)
			w := m + min(math.Ln2, float64(k)*loss)
			if k == 2 {
				w = min(w, 2*math.Ln2+excess)
			}
			return w
		},
	}
	c.sums[n] = rdpSoftplus(s.log())
	return c.sums[n]
}
