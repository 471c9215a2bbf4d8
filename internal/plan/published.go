package plan

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/scheme"
)

// published is mixing by the paper's rule, whose guarantee is claimed and not proven.
const published = "mixing-published"

// PublishedShots is the number of records that mixing as published draws for a token
// unless told: that of all the paper's experiments.
const PublishedShots = 4

// mixingPublished sets the radius β as the paper does (Flemings et al. 2025, equation 8),
// for a part with its number of texts of so many tokens. What it claims is not proven.
func (r *Request) mixingPublished(part Part, tokens int) (decode.Method, error) {
	if r.Temperature != 0 || r.Sampler != scheme.FixedSize {
		return nil, wrong("mixing as published has no temperature, and draws a fixed number of records: leave both out, or take mixing with a proof")
	}
	shots := or(r.Batch, PublishedShots)
	sampling, err := r.sampling(part, scheme.PerToken, shots, 0)
	if err != nil {
		return nil, err
	}
	order := or(r.Order, PublishedOrder(r.Epsilon, r.Delta))
	if order < 2 {
		return nil, wrong("mixing as published needs a whole order of at least 2, not %d", order)
	}
	left := PublishedLeakage(r.Epsilon, r.Delta, order)
	if !(left > 0) {
		return nil, wrong("ε = %v at δ = %v leaves nothing at order %d: ask for a larger order, or leave it out", r.Epsilon, r.Delta, order)
	}
	beta := PublishedBeta(left/(float64(part.Texts)*float64(tokens)), float64(shots)/float64(part.Size), order)
	return &decode.MixingPublished{Draw: sampling, Order: order, Beta: beta, Most: r.Most, Candidates: r.candidates()}, nil
}

// PublishedLeakage is ε̃, the Rényi divergence of a whole order that the paper takes
// (ε, δ) to stand for: the conversion of Balle et al. 2020, solved for the divergence.
func PublishedLeakage(epsilon, delta float64, order int) float64 {
	a := float64(order)
	return epsilon - math.Log((a-1)/a) + (math.Log(delta)+math.Log(a))/(a-1)
}

// PublishedOrder is the whole order whose ε̃ is nearest to half of ε.
func PublishedOrder(epsilon, delta float64) int {
	best, miss := 2, math.Inf(1)
	for order := 2; order <= 256; order++ {
		left := PublishedLeakage(epsilon, delta, order)
		if m := math.Abs(left - epsilon/2); left > 0 && m < miss {
			best, miss = order, m
		}
	}
	return best
}

// PublishedBeta is the largest β at which a token, drawn from a fraction q of the
// records, leaks at most so much at an order, if it leaks 4βα from those that were drawn.
// The paper's figures come out if 4βα is taken for all orders up to α.
func PublishedBeta(leak, q float64, order int) float64 {
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

// claim says in words what is claimed of a method and not proven, "" where nothing is.
func claim(m decode.Method, epsilon, delta float64) string {
	c, ok := m.(decode.Claimer)
	if !ok {
		return ""
	}
	return fmt.Sprintf("ε = %v at δ = %v is claimed, not proven: %s", epsilon, delta, c.Claim())
}

// Claim says what a publication claims of the method and why it is not proven; "" for
// methods with a guarantee, and for those that nobody claims one for.
func (p Plan) Claim() string { return claim(p.Parts[0].Method.Method, p.Epsilon, p.Delta) }
