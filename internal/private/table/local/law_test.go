package local

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/privacytest"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// ratExp encloses e^x: the series of e^(x/2^k) in rationals of 400 bits with the rest
// bounded, squared k times, rounding outward. It shares nothing with expDown.
func ratExp(x float64) (low, high *big.Rat) {
	const halvings, terms, width = 12, 30, 400
	small := new(big.Rat).SetFloat64(x)
	small.Quo(small, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), halvings)))
	sum, term := big.NewRat(1, 1), big.NewRat(1, 1)
	for i := int64(1); i <= terms; i++ {
		term.Mul(term, small)
		term.Quo(term, big.NewRat(i, 1))
		sum.Add(sum, term)
	}
	// What follows is less than twice the next term, as x/2^k < 1/2.
	low, high = sum, new(big.Rat).Add(sum, term)
	round := func(r *big.Rat, up int64) *big.Rat {
		n := new(big.Int).Lsh(r.Num(), width)
		n.Quo(n, r.Denom()).Add(n, big.NewInt(up))
		return new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), width))
	}
	low, high = round(low, 0), round(high, 1)
	for range halvings {
		low, high = round(low.Mul(low, low), 0), round(high.Mul(high, high), 1)
	}
	return low, high
}

// odds are those of the truth against one other value, exactly as they run.
func odds(keep uint64, values int) *big.Rat {
	t := new(big.Int).SetUint64(keep)
	rest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 64), t)
	return new(big.Rat).SetFrac(t.Mul(t, big.NewInt(int64(values-1))), rest)
}

// safe reports whether odds and their inverse are at most e^ε, of which low is a bound.
func safe(o, low *big.Rat) bool {
	return o.Cmp(low) <= 0 && new(big.Rat).Inv(o).Cmp(low) <= 0
}

// TestThresholds: the odds that run never exceed e^ε, in exact arithmetic, and one unit of
// 2^-64 (or two) more would.
func TestThresholds(t *testing.T) {
	check := func(t rapid.TB, epsilon float64, d int) {
		keep := threshold(epsilon, d)
		low, _ := ratExp(epsilon)
		if !safe(odds(keep, d), low) {
			t.Fatalf("ε = %v, %d values: %d of 2^64 is unsafe", epsilon, d, keep)
		}
		if keep < math.MaxUint64-1 && safe(odds(keep+2, d), low) {
			t.Fatalf("ε = %v, %d values: %d of 2^64 is more noise than needed", epsilon, d, keep)
		}
	}
	for _, epsilon := range []float64{MinEpsilon, 1e-3, 0.1, 1. / 12, math.Ln2, 1, 5, 12, 25, 43, 44, 45, 50} {
		for _, d := range []int{2, 3, 7, 100, MaxValues} {
			check(t, epsilon, d)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.Float64Range(MinEpsilon, 45).Draw(t, "ε"), rapid.IntRange(2, MaxValues).Draw(t, "values"))
	})
	for _, epsilon := range []float64{enough, 100, 1000, MaxEpsilon} {
		for _, d := range []int{2, MaxValues} {
			if got := threshold(epsilon, d); got != math.MaxUint64 {
				t.Errorf("ε = %v, %d values: %d", epsilon, d, got)
			}
		}
	}
	// ln 2 in a float64 is below ln 2, so the exact chance is below 2/3.
	if got := threshold(math.Ln2, 2); got > math.MaxUint64/3*2 || got < math.MaxUint64/3*2-4096 {
		t.Errorf("ε = ln 2: %d", got)
	}
}

// rowLaw is the exact law of a perturbed row: of the chances that run, by enumeration.
func rowLaw(s Settings, row []uint16) map[string]*big.Rat {
	law := map[string]*big.Rat{"": big.NewRat(1, 1)}
	scale := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 64))
	for i, keep := range s.Thresholds() {
		next := map[string]*big.Rat{}
		stay := new(big.Rat).Quo(new(big.Rat).SetInt(new(big.Int).SetUint64(keep)), scale)
		if s.Domains[i] == 1 {
			stay = big.NewRat(1, 1)
		}
		for prefix, p := range law {
			for v := range s.Domains[i] {
				chance := stay
				if v != int(row[i]) {
					chance = new(big.Rat).Sub(big.NewRat(1, 1), stay)
					chance.Quo(chance, big.NewRat(int64(s.Domains[i]-1), 1))
				}
				next[prefix+key([]uint16{uint16(v)})] = new(big.Rat).Mul(p, chance)
			}
		}
		law = next
	}
	return law
}

func rowsOf(domains []int) [][]uint16 {
	out := [][]uint16{{}}
	for _, d := range domains {
		var next [][]uint16
		for _, row := range out {
			for v := range d {
				next = append(next, append(append([]uint16(nil), row...), uint16(v)))
			}
		}
		out = next
	}
	return out
}

// TestRowsAreEpsilonPrivate compares the exact laws of all pairs of rows of tiny tables
// with what the accountant makes of the event, and the worst pair needs nearly all of it.
func TestRowsAreEpsilonPrivate(t *testing.T) {
	for _, s := range []Settings{
		{Domains: []int{2}, Epsilons: []float64{1}},
		{Domains: []int{2, 3}, Epsilons: []float64{0.5, 0.7}},
		{Domains: []int{2, 1, 2, 2}, Epsilons: []float64{0.1, 0, 0.2, 0.3}},
		{Domains: []int{4, 3}, Epsilons: []float64{MinEpsilon, 2}},
	} {
		cost, err := accountant.Auto{}.Epsilon(s.Event(), s.Adjacency(), 0)
		if err != nil {
			t.Fatal(err)
		}
		limit, _ := ratExp(cost.Upper)
		laws := map[string]map[string]*big.Rat{}
		for _, row := range rowsOf(s.Domains) {
			laws[fmt.Sprint(row)] = rowLaw(s, row)
		}
		worst := new(big.Rat)
		for x, p := range laws {
			for y, q := range laws {
				for out := range p {
					ratio := new(big.Rat).Quo(p[out], q[out])
					if ratio.Cmp(limit) > 0 {
						t.Fatalf("%+v: %s against %s gives %s with ratio %s, above e^%v", s, x, y, out, ratio.FloatString(20), cost.Upper)
					}
					if ratio.Cmp(worst) > 0 {
						worst = ratio
					}
				}
			}
		}
		minimum, _ := ratExp(cost.Upper * (1 - 1e-9))
		if worst.Cmp(minimum) < 0 {
			t.Errorf("%+v: the worst ratio is %s, less than e^ε asks for", s, worst.FloatString(20))
		}
	}
}

// misfit is privacytest.Misfit of rows and their law; what cannot be drawn never fits.
func misfit(n int, drawn map[string]int, law map[string]*big.Rat) float64 {
	var hits []int
	var chances []float64
	for x, r := range law {
		p, _ := r.Float64()
		hits, chances = append(hits, drawn[x]), append(chances, p)
	}
	for x := range drawn {
		if law[x] == nil {
			return math.Inf(1)
		}
	}
	return privacytest.Misfit(n, hits, chances)
}

// perturber makes a row public.
type perturber func(codes []uint16, s *noise.Stream)

func hitsOf(n int, row []uint16, perturb perturber) map[string]int {
	s := noise.KeyFromSeed(7).Stream("hits")
	hits := map[string]int{}
	codes := make([]uint16, len(row))
	for range n {
		copy(codes, row)
		perturb(codes, s)
		hits[key(codes)]++
	}
	return hits
}

func key(codes []uint16) string {
	var out []byte
	for _, c := range codes {
		out = append(strconv.AppendUint(out, uint64(c), 10), ' ')
	}
	return string(out)
}

// TestLaw: rows come out as often as the exact law says, for all values of a row, and not
// as with ε a tenth smaller or larger. Values are seen together, so that columns that
// share their randomness would be seen.
func TestLaw(t *testing.T) {
	const n = 60_000
	at := func(scale float64) Settings {
		return Settings{Domains: []int{2, 3, 1, 5}, Epsilons: []float64{1 * scale, 2 * scale, 0, 1.5 * scale}}
	}
	for _, row := range [][]uint16{{0, 0, 0, 0}, {1, 1, 0, 4}, {0, 2, 0, 2}} {
		p, err := New(at(1))
		if err != nil {
			t.Fatal(err)
		}
		hits := hitsOf(n, row, func(codes []uint16, s *noise.Stream) {
			if err := p.Row(codes, s); err != nil {
				t.Fatal(err)
			}
		})
		if w := misfit(n, hits, rowLaw(at(1), row)); w > 1 {
			t.Errorf("%v: %v do not fit: %.2f", row, hits, w)
		}
		for _, scale := range []float64{0.9, 1.1} {
			if w := misfit(n, hits, rowLaw(at(scale), row)); w < 1 {
				t.Errorf("%v: the test accepts ε×%v: %.2f", row, scale, w)
			}
		}
	}
}

// TestBatchLaw: the same for batches, where rows and columns are perturbed in another
// order; each batch has the same row many times.
func TestBatchLaw(t *testing.T) {
	const n, size = 60_000, 500
	settings := Settings{Domains: []int{2, 3, 1}, Epsilons: []float64{1, 2, 0}}
	p, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	row := []uint16{1, 2, 0}
	b := table.Batch{Rows: size, Columns: make([]table.Vector, 3)}
	for i, c := range row {
		for range size {
			b.Columns[i].Codes = append(b.Columns[i].Codes, c)
		}
	}
	hits, neighbours := map[string]int{}, map[string]int{}
	var out reconstruct.Rows
	for b.Index = range int64(n / size) {
		if err := p.Batch(&b, noise.KeyFromSeed(8), &out); err != nil {
			t.Fatal(err)
		}
		for i := range size {
			hits[key([]uint16{out.Columns[0][i], out.Columns[1][i], out.Columns[2][i]})]++
			if i%2 == 1 {
				neighbours[key([]uint16{out.Columns[0][i-1], out.Columns[0][i]})]++
			}
		}
	}
	if w := misfit(n, hits, rowLaw(settings, row)); w > 1 {
		t.Errorf("%v do not fit: %.2f", hits, w)
	}
	two := Settings{Domains: []int{2, 2}, Epsilons: []float64{1, 1}}
	if w := misfit(n/2, neighbours, rowLaw(two, []uint16{1, 1})); w > 1 {
		t.Errorf("rows next to each other, %v, do not fit: %.2f", neighbours, w)
	}
}

// TestPlantedBugs: each of the ways to get randomised response wrong is seen by the test
// of the law, or by that of the odds.
func TestPlantedBugs(t *testing.T) {
	const n = 60_000
	settings := Settings{Domains: []int{3, 3}, Epsilons: []float64{1, 1}}
	row := []uint16{2, 0}
	good, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	each := func(one func(code uint16, r response, s *noise.Stream) uint16) perturber {
		return func(codes []uint16, s *noise.Stream) {
			for i := range codes {
				codes[i] = one(codes[i], good.columns[i], s)
			}
		}
	}
	other := func(code, v uint16) uint16 {
		if v >= code {
			v++
		}
		return v
	}
	twice := threshold(2, 3)
	bugs := map[string]perturber{
		"kept too often": each(func(code uint16, r response, s *noise.Stream) uint16 {
			r.keep += r.keep / 20
			return r.perturb(code, s)
		}),
		"any value instead of another one": each(func(code uint16, r response, s *noise.Stream) uint16 {
			if s.Uint64() < r.keep {
				return code
			}
			return uint16(s.Uint64n(3))
		}),
		"bias of a remainder": each(func(code uint16, r response, s *noise.Stream) uint16 {
			if s.Uint64() < r.keep {
				return code
			}
			return other(code, uint16(s.Bits(2)%3%2)) // 0, 1, 2, 3 to 0, 1, 0, 0
		}),
		"the next value": each(func(code uint16, r response, s *noise.Stream) uint16 {
			if s.Uint64() < r.keep {
				return code
			}
			return (code + 1) % 3
		}),
		"value 0 left as it is": each(func(code uint16, r response, s *noise.Stream) uint16 {
			if code == 0 {
				return 0
			}
			return r.perturb(code, s)
		}),
		"the label left as it is": func(codes []uint16, s *noise.Stream) {
			codes[0] = good.columns[0].perturb(codes[0], s)
		},
		"one draw for both columns": func(codes []uint16, s *noise.Stream) {
			u, v := s.Uint64(), uint16(s.Uint64n(2))
			for i, code := range codes {
				if u >= good.columns[i].keep {
					codes[i] = other(code, v)
				}
			}
		},
		"a value that never comes out": each(func(code uint16, r response, s *noise.Stream) uint16 {
			if c := r.perturb(code, s); c != 1 {
				return c
			}
			return 0
		}),
		"a value outside the domain": each(func(code uint16, r response, s *noise.Stream) uint16 {
			if s.Uint64() < r.keep {
				return code
			}
			return code + 1 + uint16(s.Uint64n(2))
		}),
		"odds of ε in both directions": each(func(code uint16, r response, s *noise.Stream) uint16 {
			r.keep = twice
			return r.perturb(code, s)
		}),
	}
	law := rowLaw(settings, row)
	if w := misfit(n, hitsOf(n, row, func(codes []uint16, s *noise.Stream) {
		if err := good.Row(codes, s); err != nil {
			t.Fatal(err)
		}
	}), law); w > 1 {
		t.Fatalf("what is right is rejected: %.2f", w)
	}
	for name, bug := range bugs {
		if w := misfit(n, hitsOf(n, row, bug), law); w <= 1 {
			t.Errorf("%s: accepted, %.2f", name, w)
		}
	}
	exact, _ := big.NewFloat(math.E / (math.E + 2)).Rat(nil)
	up := new(big.Int).Lsh(exact.Num(), 64)
	up.Quo(up, exact.Denom()).Add(up, big.NewInt(4096))
	low, _ := ratExp(1)
	for name, o := range map[string]*big.Rat{
		"a chance rounded up":              odds(up.Uint64(), 3),
		"a chance below that of the rest":  odds(1<<60, 3),
		"the chance of two values for all": odds(threshold(1, 2), 3),
	} {
		if safe(o, low) {
			t.Errorf("%s: odds of %s pass as e^1", name, o.FloatString(18))
		}
	}
}

// TestEvent: what settings claim.
func TestEvent(t *testing.T) {
	for _, test := range []struct {
		s    Settings
		want string
	}{
		{Settings{Domains: []int{2, 2, 1, 3}, Epsilons: []float64{0.5, 0.5, 0, 1}}, "compose(repeat(2, rr(0.5, 2)), rr(1, 3))"},
		{Settings{Domains: []int{7}, Epsilons: []float64{1}}, "rr(1, 7)"},
		{Settings{Domains: []int{1}, Epsilons: []float64{0}}, "compose()"},
	} {
		if got := test.s.Event().String(); got != test.want {
			t.Errorf("%+v: %s, want %s", test.s, got, test.want)
		}
		if test.s.Adjacency() != privacy.ReplaceOne {
			t.Error("the number of rows is not hidden")
		}
	}
}
