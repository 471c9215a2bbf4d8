package decode

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/privacy"
)

// subject is a method as the checks see it: what it declares, and what it does. The
// methods are right if both agree; planted bugs (planted_test.go) do something else than
// they declare, and every one of them has to be caught.
type subject struct {
	Method
	// looks are the whole numbers that enter noise when a token is picked from a view,
	// with that noise. Where a method asks several questions, answers are what the
	// earlier ones gave.
	looks func(v View, answers *script) []look
	// chances are the exact probabilities of a pick.
	chances func(v View) []float64
}

// look is a question or a selection.
type look struct {
	values []int64
	// deviation of Gaussian noise and the multiplier it is declared as; or rate of a
	// selection, in steps.
	deviation, sigma *big.Rat
	rate             *big.Rat
}

// script has the answers to questions: made up for one view, and given again for the
// other, for what is asked may depend on answers and on nothing else.
type script struct {
	answers [][]int64
	make    func(at int, q mechanism.Query) []int64
}

func (s *script) answer(at int, q mechanism.Query) {
	if at == len(s.answers) {
		s.answers = append(s.answers, s.make(at, q))
	}
	copy(q.Values, s.answers[at])
}

func rat(x float64) *big.Rat {
	r := new(big.Rat).SetFloat64(x)
	if r == nil {
		panic("not a number")
	}
	return r
}

func product(x, y float64) *big.Rat { return new(big.Rat).Mul(rat(x), rat(y)) }

func lookAt(q mechanism.Query) look {
	return look{values: slices.Clone(q.Values), deviation: product(q.Sensitivity, q.Sigma), sigma: rat(q.Sigma)}
}

func lookOf(c mechanism.Selection) look {
	return look{values: c.Scores, rate: product(c.Rate, math.Ldexp(1, -c.Exponent))}
}

// added are subjects of methods that have a test file of their own, which adds them.
var added = map[string]subject{}

// TestEveryMethodIsASubject: each method with a proof is held against it.
func TestEveryMethodIsASubject(t *testing.T) {
	have := map[string]bool{}
	for _, s := range subjects() {
		have[s.Name()] = true
	}
	for _, spec := range method.List(method.Texts) {
		if spec.Guarantee == method.Proven && !have[spec.Name] {
			t.Errorf("nothing checks that %s does what it declares: add a subject to added in its test", spec.Name)
		}
		if (spec.Guarantee == method.Proven || spec.Guarantee == method.Free) != (spec.Proof != "") {
			t.Errorf("%s is %s with the proof %q", spec.Name, spec.Guarantee, spec.Proof)
		}
	}
}

// subjects is one line for each method and way to draw.
func subjects() map[string]subject {
	prompts := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.3, Prompts: 3, PerPrompt: 2}
	text := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.3}
	fixed := scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 2, Of: 3}
	several := prompts
	several.Per = scheme.PerText
	clipped := Clipped{Expected: 2, Range: 1, Temperature: 0.5, Candidates: 2}
	with := func(change func(*Clipped)) *Clipped {
		c := clipped
		change(&c)
		return &c
	}
	mixing := func(change func(*Mixing)) subject {
		m := Mixing{Draw: text, Expected: 2, Range: 1, Temperature: 0.7, Candidates: 2}
		change(&m)
		return mixingSubject(&m)
	}
	out := map[string]subject{
		"gaussian":                  gaussianSubject(&Gaussian{Draw: prompts, Sigma: 0.7}),
		"gaussian, fixed size":      gaussianSubject(&Gaussian{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 2, Of: 3, Prompts: 2, PerPrompt: 1}, Sigma: 0.7}),
		"noisymax":                  noisyMaxSubject(&NoisyMax{Draw: prompts, Epsilon: 1.3}),
		"radius":                    radiusSubject(&Radius{Draw: prompts, Sigma0: 3, Sigma1: 0.9, Sigma2: 2, Lambda: 0.2, Rounds: 2}),
		"radius, many prompts":      radiusSubject(&Radius{Draw: oneEach(8), Sigma0: 3, Sigma1: 0.9, Sigma2: 2, Lambda: 0.2, Rounds: 1}),
		"clipped":                   clippedSubject(with(func(c *Clipped) { c.Draw = text })),
		"clipped, uncentred, gain":  clippedSubject(with(func(c *Clipped) { c.Draw, c.Centre, c.Gain = text, Uncentred, 1.7 })),
		"clipped, mid-range":        clippedSubject(with(func(c *Clipped) { c.Draw, c.Centre = text, MidRange })),
		"clipped, favourite":        clippedSubject(with(func(c *Clipped) { c.Draw, c.Centre = text, Favourite })),
		"clipped, several a prompt": clippedSubject(with(func(c *Clipped) { c.Draw = several })),
		"clipped, fixed size":       clippedSubject(with(func(c *Clipped) { c.Draw = fixed })),
		"clipped, disjoint":         clippedSubject(with(func(c *Clipped) { c.Draw = scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 2} })),
		"mixing":                    mixing(func(*Mixing) {}),
		"mixing, product":           mixing(func(m *Mixing) { m.Temperature = 0.5 }),
		"mixing, much":              mixing(func(m *Mixing) { m.MaxLambda, m.Range = 300, 9 }),
		"mixing, little":            mixing(func(m *Mixing) { m.MaxLambda, m.Range = 1e-3, 3e-5 }),
		"mixing, per token":         mixing(func(m *Mixing) { m.Draw.Per = scheme.PerToken }),
		"mixing, several a prompt":  mixing(func(m *Mixing) { m.Draw = several }),
		"mixing, fixed size":        mixing(func(m *Mixing) { m.Draw = fixed }),
		"mixing, disjoint":          mixing(func(m *Mixing) { m.Draw = scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 2} }),
	}
	maps.Copy(out, added)
	return out
}

func TestSubjectsAreAllMethods(t *testing.T) {
	have := map[string]bool{}
	for name, s := range subjects() {
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		have[s.Name()] = true
	}
	for _, name := range method.Names(method.List(method.Texts)) {
		m, err := method.New[Method](name, method.Texts)
		if err != nil {
			t.Fatal(err)
		}
		if m.Name() != name {
			t.Errorf("%s calls itself %s", name, m.Name())
		}
		switch m.Step().(type) {
		case privacy.NonPrivate:
			if m.Proof() != "" {
				t.Errorf("%s has no guarantee, but a proof", name)
			}
			continue
		case privacy.Compose:
			if name == "public" { // reads no record
				continue
			}
		}
		if m.Proof() == "" {
			t.Errorf("%s has a guarantee, but no proof", name)
		}
		if !have[name] {
			t.Errorf("%s is not among the subjects of these tests", name)
		}
	}
}

func gaussianSubject(g *Gaussian) subject {
	return subject{
		g,
		func(v View, _ *script) []look { return []look{lookAt(g.query(v))} },
		func(v View) []float64 { return largestOf(g.query(v)) },
	}
}

func noisyMaxSubject(n *NoisyMax) subject {
	return subject{
		n,
		func(v View, _ *script) []look { return []look{lookOf(n.selection(v))} },
		func(v View) []float64 { return noisyMaxOf(n.selection(v)) },
	}
}

func clippedSubject(c *Clipped) subject {
	return subject{
		c,
		func(v View, _ *script) []look { return []look{lookOf(c.selection(v))} },
		func(v View) []float64 { return softmaxOf(c.selection(v)) },
	}
}

func mixingSubject(m *Mixing) subject {
	return subject{
		m,
		func(v View, _ *script) []look { return []look{lookOf(m.selection(v))} },
		func(v View) []float64 { return softmaxOf(m.selection(v)) },
	}
}

func radiusSubject(r *Radius) subject {
	return subject{
		r,
		func(v View, answers *script) []look {
			var out []look
			_, err := r.pick(newCloud(v), func(q mechanism.Query) error {
				out = append(out, lookAt(q))
				answers.answer(len(out)-1, q)
				return nil
			})
			if err != nil {
				panic(err)
			}
			return out
		},
		func(v View) []float64 { return radiusChances(r, newCloud(v)) },
	}
}

// moved checks that between two views the numbers that enter noise move by no more than
// the declared event says, in exact arithmetic.
func moved(s subject, a, b View, answers *script) error {
	first, second := s.looks(a, answers), s.looks(b, answers)
	if len(first) != len(second) {
		return fmt.Errorf("%d looks at one view and %d at the other, with the same answers", len(first), len(second))
	}
	left, err := privacy.Terms(s.Step())
	if err != nil {
		return err
	}
	for i := range first {
		if len(first[i].values) != len(second[i].values) {
			return fmt.Errorf("look %d has another size", i)
		}
		term := slices.IndexFunc(left, func(t privacy.Term) bool { return t.N > 0 && first[i].is(t.Event) && second[i].is(t.Event) })
		if term < 0 {
			return fmt.Errorf("look %d is none of those that are declared", i)
		}
		left[term].N--
		if err := first[i].within(left[term].Event, second[i]); err != nil {
			return fmt.Errorf("look %d: %w", i, err)
		}
	}
	return nil
}

// is reports whether a look may be what a leaf declares.
func (l look) is(leaf privacy.Event) bool {
	if g, ok := leaf.(privacy.Gaussian); ok {
		return l.sigma != nil && l.sigma.Cmp(rat(g.Sigma)) == 0
	}
	return l.rate != nil
}

// within checks the claim of a leaf for the step from one look to another.
func (l look) within(leaf privacy.Event, other look) error {
	square := new(big.Rat)
	high, low := new(big.Rat), new(big.Rat)
	for i, x := range l.values {
		d := new(big.Rat).SetInt64(other.values[i] - x)
		square.Add(square, new(big.Rat).Mul(d, d))
		if i == 0 || d.Cmp(high) > 0 {
			high.Set(d)
		}
		if i == 0 || d.Cmp(low) < 0 {
			low.Set(d)
		}
	}
	switch leaf := leaf.(type) {
	case privacy.Gaussian:
		// ‖Δ‖ ≤ deviation/σ
		if l.deviation.Cmp(other.deviation) != 0 {
			return fmt.Errorf("the noise depends on the records")
		}
		bound := new(big.Rat).Quo(l.deviation, rat(leaf.Sigma))
		if square.Cmp(bound.Mul(bound, bound)) > 0 {
			return fmt.Errorf("moves by %v squared, where %v is declared", square.FloatString(0), bound.FloatString(0))
		}
	case privacy.BoundedRange:
		if l.rate.Cmp(other.rate) != 0 {
			return fmt.Errorf("the rate depends on the records")
		}
		spread := new(big.Rat).Sub(high, low)
		if spread.Mul(spread, l.rate).Cmp(rat(leaf.C)) > 0 {
			return fmt.Errorf("moves by a range of %v, where %v is declared", spread.FloatString(6), leaf.C)
		}
	case privacy.Pure:
		// Each score by Δ: (2·rate·Δ)-DP, noise.Selector.PermuteAndFlip.
		if l.rate.Cmp(other.rate) != 0 {
			return fmt.Errorf("the rate depends on the records")
		}
		change := high.Abs(high)
		if low.Abs(low).Cmp(change) > 0 {
			change = low
		}
		if change.Mul(change, l.rate).Mul(change, big.NewRat(2, 1)).Cmp(rat(leaf.Epsilon)) > 0 {
			return fmt.Errorf("moves by %v, where %v is declared", change.FloatString(6), leaf.Epsilon)
		}
	default:
		return fmt.Errorf("no check for %v", leaf)
	}
	return nil
}

// vectors are scores as models should not give them, and as they should.
func vectors(k int) *rapid.Generator[[]float64] {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e308, -1e308, 5e-324, 700, 710, -745, -0.1, -20}
	return rapid.Custom(func(t *rapid.T) []float64 {
		out := make([]float64, k)
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0: // one token for sure
			for i := range out {
				out[i] = math.Inf(-1)
			}
			out[rapid.IntRange(0, k-1).Draw(t, "hot")] = 0
		case 1: // all equal
			for i := range out {
				out[i] = -math.Log(float64(k))
			}
		case 2: // garbage
			for i := range out {
				out[i] = rapid.SampledFrom(special).Draw(t, "special")
			}
		case 3: // any float at all
			for i := range out {
				out[i] = rapid.Float64().Draw(t, "any")
			}
		case 4: // steep, one way or the other
			for i := range out {
				out[i] = rapid.SampledFrom([]float64{-50, 50}).Draw(t, "steep")
			}
		default:
			total := 0.0
			for i := range out {
				out[i] = rapid.Float64Range(-9, 0).Draw(t, "score")
				total += math.Exp(out[i])
			}
			for i := range out {
				out[i] -= math.Log(total)
			}
		}
		return out
	})
}

// pair is two views such as adjacent data sets give, in the same draw.
type pair struct{ a, b View }

// pairs follow the scheme: one prompt is there or not, or one prompt has another vector, of
// which one may be that of an empty prompt.
func pairs(l scheme.Scheme) *rapid.Generator[pair] {
	return rapid.Custom(func(t *rapid.T) pair {
		k := rapid.IntRange(1, 5).Draw(t, "candidates")
		gen := vectors(k)
		v := View{Public: gen.Draw(t, "public"), Base: gen.Draw(t, "base")}
		n := l.Prompts - 1
		if l.Prompts == 0 {
			n = rapid.IntRange(0, 5).Draw(t, "others")
		}
		for range n {
			if l.Prompts > 0 && rapid.Bool().Draw(t, "empty") {
				v.Empty++
				continue
			}
			v.Prompts = append(v.Prompts, gen.Draw(t, "other"))
		}
		with := func(label string) View {
			w := v
			w.Prompts = slices.Insert(slices.Clone(v.Prompts), rapid.IntRange(0, len(v.Prompts)).Draw(t, "place"), gen.Draw(t, label))
			return w
		}
		exchanged := l.Prompts > 0 || l.Kind == scheme.FixedSize
		without := v
		if l.Prompts > 0 {
			without.Empty++
		}
		switch {
		case !exchanged || l.Prompts > 0 && rapid.Bool().Draw(t, "emptied"):
			return pair{with("one"), without}
		default:
			return pair{with("one"), with("other one")}
		}
	})
}

// scripts answer questions with any noise.
func scripts() *rapid.Generator[*script] {
	return rapid.Custom(func(t *rapid.T) *script {
		seed := rapid.Uint64().Draw(t, "answers")
		return &script{make: func(at int, q mechanism.Query) []int64 {
			out := slices.Clone(q.Values)
			x := seed + uint64(at)*0x9e3779b97f4a7c15
			for i := range out {
				// A multiplicative generator is enough to have different ones.
				x = x*6364136223846793005 + 1442695040888963407
				z := float64(int64(x)>>11) / (1 << 52) * 2.5
				out[i] += int64(z * q.Sensitivity * q.Sigma)
			}
			return out
		}}
	})
}

// TestSensitivity is the property that all proofs rest on.
func TestSensitivity(t *testing.T) {
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				for range 10 {
					p := pairs(s.Scheme()).Draw(t, "views")
					answers := scripts().Draw(t, "answers")
					if err := moved(s, p.a, p.b, answers); err != nil {
						t.Fatal(err)
					}
					answers.answers = nil
					if err := moved(s, p.b, p.a, answers); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
