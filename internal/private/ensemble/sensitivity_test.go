package ensemble

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// replies are as models should not give them, and as they should.
func replies() *rapid.Generator[reply] {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1e308, -1e308, 5e-324, -0.1, -20}
	return rapid.Custom(func(t *rapid.T) reply {
		r := reply{scores: make([]float64, 3), vector: make([]float32, 4)}
		for i := range r.scores {
			r.scores[i] = rapid.OneOf(rapid.Float64(), rapid.SampledFrom(special), rapid.Float64Range(-9, 0)).Draw(t, "score")
		}
		for i := range r.vector {
			r.vector[i] = rapid.OneOf(rapid.Float32(), rapid.Float32Range(-1, 1), rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), 0, 1, math.MaxFloat32})).Draw(t, "number")
		}
		if rapid.IntRange(0, 9).Draw(t, "size") == 0 {
			r.vector = r.vector[:2]
		}
		for range rapid.IntRange(0, 5).Draw(t, "words") {
			r.text += rapid.SampledFrom([]string{"aa", "bb", "cc", "dd", "AA", "the", "."}).Draw(t, "word") + " "
		}
		return r
	})
}

// pairs follow the scheme: one reply is there or not, or there is another one, which may be
// that of an empty prompt.
func pairs(l scheme.Scheme) *rapid.Generator[[2]room] {
	return rapid.Custom(func(t *rapid.T) [2]room {
		gen := replies()
		r := room{public: gen.Draw(t, "public")}
		r.public.vector = append(r.public.vector, make([]float32, 4-len(r.public.vector))...)
		for range rapid.IntRange(0, 4).Draw(t, "others") {
			if l.Prompts > 0 && rapid.Bool().Draw(t, "empty") {
				r.empty++
				continue
			}
			r.replies = append(r.replies, gen.Draw(t, "other"))
		}
		with := func(name string) room {
			w := r
			w.replies = slices.Insert(slices.Clone(r.replies), rapid.IntRange(0, len(r.replies)).Draw(t, "place"), gen.Draw(t, name))
			return w
		}
		without := r
		if l.Prompts > 0 {
			without.empty++
		}
		if !l.Exchanges() || l.Prompts > 0 && rapid.Bool().Draw(t, "emptied") {
			return [2]room{with("one"), without}
		}
		return [2]room{with("one"), with("other one")}
	})
}

// apart checks ‖a−b‖ ≤ sensitivity, exactly.
func apart(t *rapid.T, what string, a, b mechanism.Query) {
	at := expect.At(t, "%s: the noise or the size depends on records", what)
	expect.Equal(at, "a.Sensitivity", a.Sensitivity, b.Sensitivity)
	expect.Equal(at, "a.Sigma", a.Sigma, b.Sigma)
	expect.Len(at, "a.Values", a.Values, len(b.Values))
	square := new(big.Int)
	for i, x := range a.Values {
		d := big.NewInt(x - b.Values[i])
		square.Add(square, d.Mul(d, d))
	}
	bound := new(big.Rat).SetFloat64(a.Sensitivity)
	if new(big.Rat).SetInt(square).Cmp(bound.Mul(bound, bound)) > 0 {
		t.Fatalf("%s: moves by %v squared, declared is a sensitivity of %v", what, square, a.Sensitivity)
	}
}

// TestSensitivity is the property that all proofs rest on.
func TestSensitivity(t *testing.T) {
	for name, l := range map[string]scheme.Scheme{"each": each, "several": several, "exact": exact} {
		t.Run(name, func(t *testing.T) {
			vote := &Vote{Draw: l, Range: 1.7, Sigma: 0.7, CheckSigma: 0.9}
			embedding := &Embedding{Draw: l, Sigma: 0.7}
			rapid.Check(t, func(t *rapid.T) {
				p := pairs(l).Draw(t, "rooms")
				a, b := p[0], p[1]
				apart(t, "counts", vote.counts(a.view()), vote.counts(b.view()))
				apart(t, "largest count", vote.top(a.view()), vote.top(b.view()))
				apart(t, "vectors", embedding.query(a.cloud()), embedding.query(b.cloud()))
				first, second := vote.selection(a.view()), vote.selection(b.view())
				if width(first.Scores, second.Scores)*first.Rate > 1.7 || first.Rate != second.Rate {
					t.Fatal("votes move by more than the declared range")
				}
				for k := 1; k <= 3; k++ {
					checkWords(t, &Keyword{Draw: l, Keywords: k, Range: 1.7, Sigma: 0.7, Failure: 0.1}, a.tally(), b.tally())
				}
			})
		})
	}
}

// width of a change: how far apart its entries are.
func width(a, b []int64) float64 {
	var d []int64
	for i, x := range a {
		d = append(d, x-b[i])
	}
	return float64(slices.Max(d) - slices.Min(d))
}

func checkWords(t *rapid.T, k *Keyword, a, b tally) {
	if w := width(losses(a.of(list), k.Keywords), losses(b.of(list), k.Keywords)); w > spread(k.Keywords, k.Draw.Exchanges()) {
		t.Fatalf("losses move by a range of %v", w)
	}
	first, gap := k.gap(a)
	second, other := k.gap(b)
	apart(t, "gap", gap, other)
	slices.Sort(first)
	slices.Sort(second)
	if float64(gap.Values[0]) > gap.Sensitivity && !slices.Equal(first, second) {
		t.Fatalf("a gap of %v steps, and one unit makes other words the most frequent", gap.Values[0])
	}
}

func losses(counts []int64, k int) []int64 {
	sorted := slices.Clone(counts)
	slices.SortFunc(sorted, func(a, b int64) int { return int(b - a) })
	var out []int64
	for _, s := range arrangements(len(counts), k) {
		out = append(out, lossOf(sorted, counts, s))
	}
	return out
}

// TestSpreadIsReached: no smaller number would do, which is why it is what it is.
func TestSpreadIsReached(t *testing.T) {
	const items = 3
	for k := 1; k <= 2; k++ {
		added, exchanged := 0.0, 0.0
		for code := range 4 * 4 * 4 {
			counts := []int64{int64(code % 4), int64(code / 4 % 4), int64(code / 16)}
			var after [][]int64
			for words := range 1 << items {
				more := slices.Clone(counts)
				for i := range items {
					more[i] += int64(words >> i & 1)
				}
				after = append(after, losses(more, k))
			}
			for _, x := range after {
				added = max(added, width(x, after[0]))
				for _, y := range after {
					exchanged = max(exchanged, width(x, y))
				}
			}
		}
		if added != spread(k, false) || exchanged != spread(k, true) {
			t.Errorf("%d keywords: losses move by ranges of %v and, exchanged, %v; declared are %v and %v", k, added, exchanged, spread(k, false), spread(k, true))
		}
	}
}

// TestBaseIsNotBelow: b ≥ e^−rate, with enclosures of e^−rate by Taylor sums.
func TestBaseIsNotBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(rapid.Float64Range(0, 40), rapid.Float64Range(0, 1e-9), rapid.SampledFrom([]float64{0, 1e-300, 1, math.Ln2, 700, 1e9})).Draw(t, "rate")
		b := new(big.Rat).SetFrac(base(rate), new(big.Int).Lsh(big.NewInt(1), bits))
		if b.Cmp(big.NewRat(1, 1)) > 0 {
			t.Fatalf("b = %v is above one", b)
		}
		// 1/b ≤ e^rate, where partial sums of the series are below e^rate.
		inverse, sum, term := new(big.Rat).Inv(b), big.NewRat(1, 1), big.NewRat(1, 1)
		x := new(big.Rat).SetFloat64(min(rate, 50)) // beyond, b is at least 2·2^-32 > e^−50
		for n := int64(1); n < 300 && sum.Cmp(inverse) < 0; n++ {
			term.Mul(term, x).Mul(term, big.NewRat(1, n))
			sum.Add(sum, term)
		}
		if sum.Cmp(inverse) < 0 {
			t.Fatalf("b = %v is below e^-%v", b.FloatString(12), rate)
		}
	})
}

// TestUnit: vectors are at most one long in whole numbers, and not much shorter.
func TestUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32Range(-10, 10), 1, 400).Draw(t, "vector")
		out := unit(v, len(v))
		if tooLong(out) {
			t.Fatal("longer than one")
		}
		length, square := 0.0, 0.0
		for i, x := range v {
			length += float64(x) * float64(x)
			square += float64(out[i]) * float64(out[i])
		}
		if length > 1e-6 && math.Sqrt(square) < (1<<fine)-2*math.Sqrt(float64(len(v)))-1 {
			t.Fatalf("%v steps long, one is %v", math.Sqrt(square), 1<<fine)
		}
	})
}

// FuzzWords: words are what the counts are about, whatever prompts write.
func FuzzWords(f *testing.F) {
	f.Add("The cat, the CAT and a dog")
	f.Add("ÄÖ \xff\xfe don't 12:30")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		all := words(text)
		for i, w := range all {
			at := expect.At(t, "the word %q of %q", w, text)
			expect.True(at, "w is not empty", w != "", w)
			expect.True(at, "not stopWords[w]", !stopWords[w])
			expect.True(at, "not strings.ContainsAny(w, \" ,.\")", !strings.ContainsAny(w, " ,."), w)
			if i > 0 {
				expect.True(at, "all[i-1] < w", all[i-1] < w, all[i-1])
			}
		}
		counts := tally{}
		counts.count(text, 1)
		for _, n := range counts {
			if n != 1 {
				t.Errorf("a word counts %d times", n)
			}
		}
	})
}

// FuzzUnit: no vector is too long for the noise.
func FuzzUnit(f *testing.F) {
	f.Add(float32(1), float32(0), float32(-1e30))
	f.Add(float32(math.Inf(1)), float32(math.NaN()), float32(1e-45))
	f.Fuzz(func(t *testing.T, x, y, z float32) {
		if tooLong(unit([]float32{x, y, z}, 3)) {
			t.Errorf("%v, %v, %v make a vector that is longer than one", x, y, z)
		}
	})
}
