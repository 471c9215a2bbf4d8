package nearest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// angles is an encoder whose texts are numbers of degrees; others are at 0.
type angles struct {
	name  string
	seen  []string
	fault error
	short bool
}

func (a *angles) Embed(_ context.Context, texts []string) ([][]float32, error) {
	a.seen = append(a.seen, texts...)
	if a.fault != nil {
		return nil, a.fault
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		var degrees float64
		_, _ = fmt.Sscan(text, &degrees)
		sin, cos := math.Sincos(degrees * math.Pi / 180)
		out[i] = []float32{float32(sin), float32(cos)}
	}
	if a.short {
		return out[1:], nil
	}
	return out, nil
}
func (*angles) Dimension() int { return 2 }
func (a *angles) Name() string { return a.name }
func (*angles) Close() error   { return nil }

func promptOf(limit int, inputs ...string) prompt.Prompt {
	p := prompt.Prompt{Nearest: prompt.Nearest{Examples: limit, Encoder: "angles"}}
	for _, text := range inputs {
		p.Examples = append(p.Examples, prompt.Example{Input: text, Output: "out"})
	}
	return p
}

func inputs(list []prompt.Example) string {
	var out []string
	for _, e := range list {
		out = append(out, e.Input)
	}
	return strings.Join(out, " ")
}

// TestPick: the nearest examples, the most similar last; of equal ones the last; doubles once; all where there are too
// few; and an empty question gets some as well.
func TestPick(t *testing.T) {
	for _, c := range []struct {
		limit              int
		of, question, want string
	}{
		{2, "10 50 90", "80", "50 90"},
		{2, "90 50 10", "80", "50 90"},
		{1, "10 50 90", "12", "10"},
		{2, "370 50 10", "10", "370 10"},
		{1, "30 -30", "0", "-30"},
		{1, "-30 30", "0", "30"},
		{3, "10 10 10 90", "0", "90 10"},
		{9, "10 50 90", "0", "90 50 10"},
		{2, "10 50 90", "", "50 10"},
	} {
		p, err := Open(t.Context(), promptOf(c.limit, strings.Fields(c.of)...), &angles{name: "angles"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Pick(t.Context(), []string{"180", c.question})
		if err != nil || len(got) != 2 {
			t.Fatal(got, err)
		}
		if inputs(got[1]) != c.want {
			t.Errorf("the %d of %s nearest to %q are %s, want %s", c.limit, c.of, c.question, inputs(got[1]), c.want)
		}
	}
}

// TestPickIsOfTheQuestionAlone: as many as there are and no other is nearer, whatever else is asked; the order of the
// pool decides among equals alone.
func TestPickIsOfTheQuestionAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		number := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint(rapid.IntRange(0, 90).Draw(t, "degrees")) })
		pool := rapid.SliceOfN(number, 1, 12).Draw(rt, "pool")
		limit := rapid.IntRange(1, 14).Draw(rt, "limit")
		questions := rapid.SliceOfN(number, 1, 5).Draw(rt, "questions")
		p, err := Open(t.Context(), promptOf(limit, pool...), &angles{name: "angles"})
		if err != nil {
			rt.Fatal(err)
		}
		all, err := p.Pick(t.Context(), questions)
		if err != nil {
			rt.Fatal(err)
		}
		slices.Sort(pool)
		distinct := len(slices.Compact(pool))
		for i, q := range questions {
			alone, err := p.Pick(t.Context(), questions[i:i+1])
			if err != nil || !slices.Equal(alone[0], all[i]) {
				rt.Fatalf("%s gets %s by itself, and %s among others: %v", q, inputs(alone[0]), inputs(all[i]), err)
			}
			if len(all[i]) != min(limit, distinct) {
				rt.Fatalf("%d examples of %d, want %d", len(all[i]), distinct, limit)
			}
			far := func(e prompt.Example) float64 {
				var a, b float64
				_, _ = fmt.Sscan(e.Input, &a)
				_, _ = fmt.Sscan(q, &b)
				return math.Abs(a - b)
			}
			for k := 1; k < len(all[i]); k++ {
				if far(all[i][k]) > far(all[i][k-1]) {
					rt.Fatalf("%s gets %s, in this order", q, inputs(all[i]))
				}
			}
			for _, e := range p.examples.list {
				if !slices.Contains(all[i], e) && far(e) < far(all[i][0]) {
					rt.Fatalf("%s gets %s, and not %s", q, inputs(all[i]), e.Input)
				}
			}
		}
	})
}

// TestWrongEncoders: none, no trusted one, another than the prompt's, and ones that fail.
func TestWrongEncoders(t *testing.T) {
	p := promptOf(1, "1", "2")
	for name, e := range map[string]Encodes{"none": nil, "no trusted one": lm.TrustedEmbedder{}, "another": &angles{name: "angels"}, "a fault": &angles{name: "angles", fault: errors.New("injected")}, "too few vectors": &angles{name: "angles", short: true}} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(t.Context(), p, e); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	_, err := Open(t.Context(), p, &angles{name: "angels"})
	at := expect.At(t, "the error does not name both encoders")
	expect.Contains(at, "err", fmt.Sprint(err), "angels")
	expect.Contains(at, "err", fmt.Sprint(err), "angles")
}

// TestExamplesAreEncodedOnce, also after an error, and questions are forgotten.
func TestExamplesAreEncodedOnce(t *testing.T) {
	by := &angles{name: "angles", fault: errors.New("injected")}
	e, err := New(by)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Examples(t.Context(), promptOf(1, "1", "2")); err == nil {
		t.Fatal("a fault is not noticed")
	}
	by.fault, by.seen = nil, nil
	for range 3 {
		if _, err := e.Examples(t.Context(), promptOf(2, "1", "2", "1", "3")); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(by.seen, []string{"1", "2", "3"}) {
		t.Errorf("encoded %v", by.seen)
	}
	if _, err := e.Questions(t.Context(), []string{"secret"}); err != nil {
		t.Fatal(err)
	}
	if _, kept := e.known["secret"]; kept || len(e.known) != 3 {
		t.Errorf("%d texts are kept", len(e.known))
	}
}

// TestNoNumbers: vectors that are no numbers are nearest to nothing, and do no harm.
func TestNoNumbers(t *testing.T) {
	nan := float32(math.NaN())
	x := &Examples{list: promptOf(1, "a", "b").Examples, vectors: [][]float32{{1, 0}, {nan, 0}}, limit: 1}
	if got := inputs(x.Of([]float32{1, 0})); got != "a" {
		t.Errorf("nearest is %s", got)
	}
	if got := x.Of([]float32{nan, nan}); len(got) != 1 {
		t.Errorf("%d examples", len(got))
	}
	if got := x.Of(nil); len(got) != 1 {
		t.Errorf("%d examples", len(got))
	}
}
