package decode

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestProject: no entry is negative, they add up except for rounding, order is kept, and
// what is a point already stays.
func TestProject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(-1<<40, 1<<40), 1, 30).Draw(t, "values")
		total := rapid.Int64Range(1, 1<<40).Draw(t, "total")
		out := project(values, total)
		sum := int64(0)
		for i, x := range out {
			if x < 0 {
				t.Fatalf("entry %d is %d", i, x)
			}
			for j, y := range out {
				if values[i] < values[j] && x > y {
					t.Fatalf("%d and %d change places", i, j)
				}
			}
			sum += x
		}
		if d := sum - total; d > int64(len(values)) || d < -int64(len(values)) {
			t.Fatalf("adds up to %d, not %d", sum, total)
		}
		for i, x := range project(out, sum) {
			if d := x - out[i]; d > 1 || d < -1 {
				t.Fatalf("a point is moved")
			}
		}
	})
}

// TestChoosers: sampling follows the projected vector, the nucleus only its largest
// entries. False reject rate 1e-9, by Chernoff's bound on six frequencies.
func TestChoosers(t *testing.T) {
	key, err := noise.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	const whole, picks = 1 << mass, 4000
	noisy := []int64{whole / 2, -whole, whole * 3 / 10, whole * 15 / 100, whole * 5 / 100, 0}
	count := func(c Chooser) []float64 {
		out := make([]float64, len(noisy))
		for i := range picks {
			at, err := c.pick(noisy, 1, key.Stream("choose "+string(c), uint64(i)))
			if err != nil {
				t.Fatal(err)
			}
			out[at] += 1. / picks
		}
		return out
	}
	limit := math.Log(2 * 6 * 3 / 1e-9)
	for chooser, want := range map[Chooser][]float64{
		ArgMax: {1, 0, 0, 0, 0, 0},
		Sample: {0.5, 0, 0.3, 0.15, 0.05, 0},
		// The three largest hold 0.95; of the third only what is below 0.9 counts.
		Nucleus: {0.5 / 0.9, 0, 0.3 / 0.9, 0.1 / 0.9, 0, 0},
	} {
		for i, f := range count(chooser) {
			if picks*divergence(f, want[i]) > limit && math.Abs(f-want[i]) > 1e-6 {
				t.Errorf("%s: candidate %d is chosen at %v, not %v", chooser, i, f, want[i])
			}
		}
	}
}

// letters is a tokeniser of 26 letters, an end and a mark.
type letters struct{ lm.Tokenizer }

const (
	theEnd lm.Token = 26
	mark   lm.Token = 27
)

func (letters) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	out := ""
	for _, t := range tokens {
		if t < theEnd {
			out += string(rune('a' + t))
		}
	}
	return out, nil
}

func (letters) Control(t lm.Token) bool { return t >= theEnd }

func tokens(s string) []lm.Token {
	var out []lm.Token
	for _, r := range s {
		out = append(out, lm.Token(r-'a'))
	}
	return out
}

// TestRules: what may come next, from public scores and the text alone.
func TestRules(t *testing.T) {
	scores := make([]float64, 28)
	for i := range scores {
		scores[i] = -float64(i) // a is best, then b, …
	}
	scores[theEnd], scores[mark], scores[2] = 1, 2, math.NaN()
	for name, c := range map[string]struct {
		rules  Rules
		stop   []string
		text   string
		choice Shortlist
		want   []lm.Token
	}{
		"the best":                      {choice: Shortlist{Best: 4}, want: []lm.Token{0, 1, 3, theEnd}},
		"no end yet":                    {rules: Rules{MinTokens: 2}, text: "x", choice: Shortlist{Best: 3}, want: []lm.Token{0, 1, 3}},
		"an end now":                    {rules: Rules{MinTokens: 2}, text: "xy", choice: Shortlist{Best: 3}, want: []lm.Token{0, 1, theEnd}},
		"no stop string yet":            {rules: Rules{MinTokens: 2}, stop: []string{"b"}, choice: Shortlist{Best: 3}, want: []lm.Token{0, 3, 4}},
		"penalty":                       {rules: Rules{Penalty: 2.5}, text: "aa", choice: Shortlist{Best: 3}, want: []lm.Token{1, 3, theEnd}},
		"penalty of three at most":      {rules: Rules{Penalty: 1.5}, text: "aaaaaaaa", choice: Shortlist{Best: 4}, want: []lm.Token{1, 3, 4, theEnd}},
		"no repeated pair":              {rules: Rules{NoRepeat: 2}, text: "baxb", choice: Shortlist{Best: 3}, want: []lm.Token{1, 3, theEnd}},
		"no repeated triple":            {rules: Rules{NoRepeat: 3}, text: "xyaxy", choice: Shortlist{Best: 3}, want: []lm.Token{1, 3, theEnd}},
		"a margin":                      {choice: Shortlist{Best: 2, Margin: 3}, want: []lm.Token{0, 1, 3, theEnd}},
		"a margin of what is penalised": {rules: Rules{Penalty: 0.5}, text: "d", choice: Shortlist{Best: 2, Margin: 3.4}, want: []lm.Token{0, 1, theEnd}},
	} {
		w := &Writer{tokenizer: letters{}, rules: c.rules, ends: map[lm.Token]bool{theEnd: true}}
		w.task.Stop = c.stop
		got, err := w.candidates(t.Context(), lm.Scores{LogProbs: slices.Clone(scores)}, &text{tokens: tokens(c.text)}, c.choice)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(tokensOf(got), c.want) {
			t.Errorf("%s: %v, not %v", name, tokensOf(got), c.want)
		}
	}
	for _, r := range []Rules{{MinTokens: -1}, {NoRepeat: 1}, {NoRepeat: -2}, {Penalty: -1}, {Penalty: math.NaN()}, {Penalty: math.Inf(1)}} {
		if r.Check() == nil {
			t.Errorf("%+v is allowed", r)
		}
	}
}
