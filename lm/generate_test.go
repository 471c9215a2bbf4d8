package lm

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSettled: whatever comes next, what was told stays, and no character or stop
// string is cut in two.
func TestSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]string{"a", "b", "é", "数", "🙂", "\n"})
		join := func(name string, low, high int) string {
			return strings.Join(rapid.SliceOfN(letters, low, high).Draw(t, name), "")
		}
		text, stop := join("text", 0, 30), join("stop", 1, 4)
		told := 0
		var pieces strings.Builder
		for end := 1; end <= len(text); end++ { // byte by byte, so within characters too
			seen := text[:end]
			if at := firstOf(seen, []string{stop}); at >= 0 {
				if told > at {
					t.Fatalf("told %d bytes, but the stop string begins at %d", told, at)
				}
				return
			}
			if safe := settled(seen, []string{stop}); safe > told {
				pieces.WriteString(seen[told:safe])
				told = safe
			}
			if strings.ToValidUTF8(pieces.String(), "?") != pieces.String() {
				t.Fatal("part of a character was told")
			}
		}
	})
}

// TestPick compares how often tokens are sampled with their probabilities. With
// n = 200,000 draws Hoeffding's bound puts the chance that one of the 4 frequencies
// is off by more than 0.0085 below 4·2·exp(−2·n·0.0085²) < 3e-12, while another
// temperature (1.25 times) moves one by 0.03.
func TestPick(t *testing.T) {
	const n, off = 200_000, 0.0085
	scores := Scores{Tokens: []Token{7, 3, 5, 1}, LogProbs: []float64{-0.5, -1.4, -2.0, -3.0}}
	frequencies := func(o GenerateOptions) map[Token]float64 {
		random := rand.New(rand.NewChaCha8([32]byte{1}))
		f := map[Token]float64{}
		for range n {
			f[o.pick(scores, random)] += 1.0 / n
		}
		return f
	}
	want := func(temperature float64, kept int) map[Token]float64 {
		var sum float64
		p := map[Token]float64{}
		for i := range kept {
			p[scores.Tokens[i]] = math.Exp(scores.LogProbs[i] / temperature)
			sum += p[scores.Tokens[i]]
		}
		for k := range p {
			p[k] /= sum
		}
		return p
	}
	distance := func(a, b map[Token]float64) (largest float64) {
		for _, k := range scores.Tokens {
			largest = max(largest, math.Abs(a[k]-b[k]))
		}
		return largest
	}
	for _, c := range []struct {
		o    GenerateOptions
		kept int
	}{
		{GenerateOptions{Temperature: 0.8}, 4},
		{GenerateOptions{Temperature: 1, TopP: 0.7}, 2},
		{GenerateOptions{Temperature: 2}, 4},
	} {
		got := frequencies(c.o)
		if d := distance(got, want(c.o.Temperature, c.kept)); d > off {
			t.Errorf("%+v: frequencies are off by %v", c.o, d)
		}
		if d := distance(got, want(c.o.Temperature*1.25, c.kept)); d <= off {
			t.Errorf("%+v: the test does not see a temperature that is wrong by a quarter", c.o)
		}
	}
	if greedy := frequencies(GenerateOptions{}); greedy[7] < 0.999 {
		t.Error("temperature 0 does not take the best token")
	}
}
