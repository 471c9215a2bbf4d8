package decode

import (
	"math"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
)

// planPublished sets the radius β as the paper does (Flemings et al. 2025, equation 8). What
// it claims is not proven.
func planPublished(a method.Ask) (*PublishedMixing, error) {
	if a.Sampler != scheme.FixedSize {
		return nil, method.Wrong("mixing as published draws a fixed number of records: leave the sampler out, or take mixing with a proof")
	}
	shots := a.Values.Int("batch", publishedShots)
	sampling, err := a.Draw(scheme.PerToken, shots, 0)
	if err != nil {
		return nil, err
	}
	order := a.Values.Int("order", publishedOrder(a.Epsilon, a.Delta))
	left := publishedLeakage(a.Epsilon, a.Delta, order)
	if !(left > 0) {
		return nil, method.Wrong("ε = %v at δ = %v leaves nothing at order %d: ask for a larger order, or leave it out", a.Epsilon, a.Delta, order)
	}
	beta := publishedBeta(left/(float64(a.Texts)*float64(a.Tokens)), float64(shots)/float64(a.Size), order)
	return &PublishedMixing{Draw: sampling, Order: order, Beta: beta, MaxLambda: a.Values.Float("max_lambda", 0), Candidates: a.Values.Tokens()}, nil
}

// publishedLeakage is ε̃, the Rényi divergence of a whole order that the paper takes
// (ε, δ) to stand for: the conversion of Balle et al. 2020, solved for the divergence.
func publishedLeakage(epsilon, delta float64, order int) float64 {
	a := float64(order)
	return epsilon - math.Log((a-1)/a) + (math.Log(delta)+math.Log(a))/(a-1)
}

// publishedOrder is the whole order whose ε̃ is nearest to half of ε.
func publishedOrder(epsilon, delta float64) int {
	best, miss := 2, math.Inf(1)
	for order := 2; order <= 256; order++ {
		left := publishedLeakage(epsilon, delta, order)
		if m := math.Abs(left - epsilon/2); left > 0 && m < miss {
			best, miss = order, m
		}
	}
	return best
}

// publishedBeta is the largest β at which a token, drawn from a fraction q of the
// records, leaks at most so much at an order, if it leaks 4βα from those that were drawn.
// The paper's figures come out if 4βα is taken for all orders up to α.
func publishedBeta(leak, q float64, order int) float64 {
	low, high := 0.0, 1.0
	for publishedSampled(4*high*float64(order), q, order) <= leak && high < 1e6 {
		low, high = high, 2*high
	}
	for range 60 {
		middle := (low + high) / 2
		if publishedSampled(4*middle*float64(order), q, order) <= leak {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// publishedSampled is what is left of a divergence d at all orders up to α when a
// fraction q of the records is drawn without replacement (Wang, Balle, Kasiviswanathan
// 2019, theorem 9, for a largest loss that is not known), at order α:
//
//	1/(α−1) · ln(1 + q²·C(α,2)·min{4(e^d − 1), 2e^d} + Σ_{j=3}^α 2·q^j·C(α,j)·e^{(j−1)d})
func publishedSampled(d, q float64, order int) float64 {
	// The logarithm of the sum after the 1, whose terms may be beyond a float64.
	a := float64(order)
	logChoose := 0.0 // of α over j
	var terms []float64
	top := math.Inf(-1)
	for j := 1; j <= order; j++ {
		logChoose += math.Log(a-float64(j)+1) - math.Log(float64(j))
		term := math.Ln2 + float64(j-1)*d
		switch j {
		case 1:
			continue
		case 2:
			if d < math.Ln2 { // 4(e^d − 1) < 2e^d
				term = math.Log(4 * math.Expm1(d))
			}
		}
		term += float64(j)*math.Log(q) + logChoose
		terms = append(terms, term)
		top = math.Max(top, term)
	}
	sum := 0.0
	for _, t := range terms {
		sum += math.Exp(t - top)
	}
	log := top + math.Log(sum)
	if log > 30 {
		return log / (a - 1)
	}
	return math.Log1p(math.Exp(log)) / (a - 1)
}
