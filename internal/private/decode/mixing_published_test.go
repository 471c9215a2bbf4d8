package decode

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// moment is Σ p^α/q^(α−1) in exact arithmetic: e to the (α−1)-fold Rényi divergence.
func moment(p, q []*big.Rat, order int) *big.Rat {
	sum := new(big.Rat)
	for i := range p {
		term := new(big.Rat).Set(p[i])
		ratio := new(big.Rat).Quo(p[i], q[i])
		for range order - 1 {
			term.Mul(term, ratio)
		}
		sum.Add(sum, term)
	}
	return sum
}

// renyi is the divergence of a whole order: one logarithm of an exact number.
func renyi(p, q []*big.Rat, order int) float64 {
	m, _ := moment(p, q, order).Float64()
	return math.Log(m) / float64(order-1)
}

func exactly(values ...string) []*big.Rat {
	out := make([]*big.Rat, len(values))
	for i, v := range values {
		out[i], _ = new(big.Rat).SetString(v)
	}
	return whole(out)
}

// whole makes numbers add up to one.
func whole(values []*big.Rat) []*big.Rat {
	sum := new(big.Rat)
	for _, v := range values {
		sum.Add(sum, v)
	}
	out := make([]*big.Rat, len(values))
	for i, v := range values {
		out[i] = new(big.Rat).Quo(v, sum)
	}
	return out
}

// densities multiplies and makes the product add up to one.
func densities(all ...[]*big.Rat) []*big.Rat {
	out := slices.Clone(all[0])
	for _, d := range all[1:] {
		for i := range out {
			out[i] = new(big.Rat).Mul(out[i], d[i])
		}
	}
	return whole(out)
}

func logs(p []*big.Rat) []float64 {
	out := make([]float64, len(p))
	for i, v := range p {
		f, _ := v.Float64()
		out[i] = math.Log(f)
	}
	return out
}

// The counter-example to theorem B.3 of Flemings et al. 2025: three prompts are shared,
// the fourth is exchanged. β is that of the paper's SAMSum at ε = 2, up to its rounding.
var counter = struct {
	public, shared, one, other []*big.Rat
	order                      int
	beta                       float64
}{
	exactly(".038751", ".779756", ".181494"), exactly(".162624", ".179727", ".657648"),
	exactly(".203622", ".76241", ".033969"), exactly(".006039", ".221669", ".772293"),
	8, 0.1790001,
}

// TestPublishedClaimIsExceeded: all densities are within the ball that the published rule
// keeps to, and exchanging one moves the token by more than the rule claims, 4βα: at the
// order that it looks at, and far more at order 2. All but the last logarithm is exact.
func TestPublishedClaimIsExceeded(t *testing.T) {
	c := counter
	for _, d := range [][]*big.Rat{c.shared, c.one, c.other} {
		if r := max(renyi(d, c.public, c.order), renyi(c.public, d, c.order)); r > c.beta*float64(c.order) {
			t.Errorf("a density is %v from the public one, beyond %v", r, c.beta*float64(c.order))
		}
	}
	p := densities(c.shared, c.shared, c.shared, c.one)
	q := densities(c.shared, c.shared, c.shared, c.other)
	for order, want := range map[int]float64{2: 3.797, 8: 5.805} {
		got, claimed := renyi(p, q, order), 4*c.beta*float64(order)
		if math.Abs(got-want) > 1e-3 || got <= claimed {
			t.Errorf("order %d: %v, where %v is claimed and %v was expected", order, got, claimed, want)
		}
	}
	// Without the product there is no excess at the order of the ball: it is the step from
	// measures to densities that fails.
	if got := renyi(c.one, c.other, c.order); got > 4*c.beta*float64(c.order) {
		t.Errorf("single densities are already %v apart", got)
	}
}

// TestPublishedRuleExceedsItsClaim: the same of what runs. Its scores are on a grid of
// 2^-20 nats and λ is known to 2^-39: the divergences have an error below 1e-4.
func TestPublishedRuleExceedsItsClaim(t *testing.T) {
	c := counter
	m := &PublishedMixing{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 4, Of: 14732}, Order: c.order, Beta: c.beta, Candidates: 3}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	shared := logs(c.shared)
	view := func(last []*big.Rat) View {
		return View{Public: logs(c.public), Base: logs(c.public), Prompts: [][]float64{shared, shared, shared, logs(last)}}
	}
	p, q := softmaxOf(m.selection(view(c.one))), softmaxOf(m.selection(view(c.other)))
	sum := 0.0
	for i := range p {
		sum += math.Pow(p[i], 8) / math.Pow(q[i], 7)
	}
	got, claimed := math.Log(sum)/7, 4*c.beta*8
	if got-1e-4 <= claimed {
		t.Errorf("a token moves by %v, and %v is claimed: the counter-example is none", got, claimed)
	}
	// With a proof there is none: a bounded range of c is at most c²/8·α.
	proven := &Mixing{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 4, Of: 14732}, Expected: 4, Range: math.Sqrt(8 * 4 * c.beta), Temperature: 0.25, Candidates: 3}
	if err := moved(mixingSubject(proven), view(c.one), view(c.other), nil); err != nil {
		t.Error(err)
	}
}

// TestPublishedLambda: λ is the largest in the ball, or the largest allowed.
func TestPublishedLambda(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := decent().Draw(t, "view")
		m := &PublishedMixing{Order: rapid.IntRange(2, 20).Draw(t, "order"), Beta: rapid.Float64Range(0.001, 1).Draw(t, "beta")}
		d := make([]float64, len(v.Public))
		for i := range d {
			d[i] = v.Prompts[0][i] - v.Public[i]
		}
		lambda, order, radius := m.lambda(v.Public, d), float64(m.Order), m.Beta*float64(m.Order)
		// By the definition of the divergence, not by the formula that is used.
		apart := func(lambda float64) float64 {
			mixed := make([]float64, len(d))
			for i := range d {
				mixed[i] = v.Public[i] + lambda*d[i]
			}
			mixed = normalised(mixed)
			var there, back float64
			for i := range d {
				there += math.Exp(order*mixed[i] + (1-order)*v.Public[i])
				back += math.Exp(order*v.Public[i] + (1-order)*mixed[i])
			}
			return math.Log(max(there, back)) / (order - 1)
		}
		at := expect.At(t, "in a ball of %v", radius)
		expect.Min(at, "lambda", lambda, 0)
		expect.Max(at, "lambda", lambda, MaxMixed)
		expect.Max(at, "apart(lambda)", apart(lambda), radius+1e-9)
		if lambda < MaxMixed-1e-6 && apart(lambda+1e-6) <= radius-1e-9 {
			t.Fatalf("λ = %v could be larger: %v of %v", lambda, apart(lambda+1e-6), radius)
		}
	})
}

// TestPublishedOfGarbage: whatever scores come in, something is picked.
func TestPublishedOfGarbage(t *testing.T) {
	m := &PublishedMixing{Order: 8, Beta: 0.2}
	rapid.Check(t, func(t *rapid.T) {
		gen := vectors(4)
		v := View{Public: gen.Draw(t, "public"), Base: gen.Draw(t, "base"), Prompts: [][]float64{gen.Draw(t, "prompt"), gen.Draw(t, "other")}}
		for _, p := range softmaxOf(m.selection(v)) {
			if math.IsNaN(p) {
				t.Fatal("a probability is no number")
			}
		}
	})
}
