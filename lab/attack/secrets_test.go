package attack

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// TestPlaceOfTheUnknown: a code that nothing is known of is exposed by 1/ln 2 bits on average, and its
// chance is even.
func TestPlaceOfTheUnknown(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const times = 4000
	mean, low := 0., 0
	for range times {
		scores := make([]float64, Codes)
		for i := range scores {
			scores[i] = r.Float64()
		}
		bits := Exposure(place(scores, r.IntN(Codes)), Codes)
		mean += bits / times
		if gammaTail(1, bits*math.Ln2) < 0.1 {
			low++
		}
	}
	if math.Abs(mean-Chance) > 0.12 { // five deviations of the mean
		t.Errorf("%.3f bits, and %.3f are expected", mean, Chance)
	}
	if low > 500 { // 400 are expected at most
		t.Errorf("%d of %d have a chance below a tenth", low, times)
	}
	if got := place([]float64{1, 3, 2, 2, 2}, 3); got != 3 {
		t.Errorf("the middle of three equal ones is place %d", got)
	}
}

// TestGammaTail: against tables of the Poisson distribution.
func TestGammaTail(t *testing.T) {
	for _, c := range []struct {
		n       int
		x, want float64
	}{{1, 2, 0.1353}, {3, 2, 0.6767}, {5, 10, 0.0293}, {4, 0, 1}} {
		if got := gammaTail(c.n, c.x); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%d at %v: %.4f, and it is %v", c.n, c.x, got, c.want)
		}
	}
}

func newHunt(t *testing.T) *Hunt {
	t.Helper()
	task, records := messages(t, 200)
	h := &Hunt{
		Model: newParrot(), Task: task, Records: records, Copies: []int{1, 4}, Secrets: 6, Size: 24, Shots: 2, Confidence: 0.99, Key: noise.KeyFromSeed(11),
	}
	if err := h.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestSecrets: a model without demonstrations knows no code, real demonstrations give it away, and so does
// a method that copies: it is beyond its ε.
func TestSecrets(t *testing.T) {
	h := newHunt(t)
	none, err := h.None(t.Context())
	expect.NoError(t, err)
	expect.Equal(t, "none.Conclusion", none.Conclusion, NotShown)
	expect.Equal(t, "none.Verbatim", none.Verbatim, 0)
	real, err := h.Real(t.Context(), 4)
	expect.NoError(t, err)
	expect.Equal(t, "real.Conclusion", real.Conclusion, Exposed)
	expect.Equal(t, "real.Verbatim", real.Verbatim, 6)
	expect.Min(t, "real.Exposure", real.Exposure, 9)
	copies := func(_ context.Context, label string, members []prompt.Example, _ uint64) ([]prompt.Example, error) {
		if len(members) != h.Size {
			t.Errorf("%d members", len(members))
		}
		return members, nil
	}
	leak, err := h.Private(t.Context(), copies, 1, 1)
	expect.NoError(t, err)
	expect.Equal(t, "leak.Conclusion", leak.Conclusion, Beyond)
	expect.Equal(t, "leak.Verbatim", leak.Verbatim, 6)
	expect.True(t, "leak.Low above leak.Allowed", leak.Low > leak.Allowed, leak.Low, leak.Allowed)
	// Many copies of a large ε allow anything.
	leak, err = h.Private(t.Context(), copies, 4, 8)
	expect.NoError(t, err)
	expect.Equal(t, "leak.Conclusion", leak.Conclusion, Within)
	expect.Equal(t, "leak.Allowed", leak.Allowed, math.Log2(Codes))
}

// TestSecretsOfShippedMethod: the front door gives nothing away that ε does not allow.
func TestSecretsOfShippedMethod(t *testing.T) {
	h := newHunt(t)
	p := newParrot()
	maker, err := NewMaker(p.trusted(t))
	if err != nil {
		t.Fatal(err)
	}
	defer maker.Close()
	terms := Terms{Method: "clipped", Epsilon: 1, Delta: 1e-6, Size: 24, Shots: 1, Tokens: 12}
	row, err := h.Private(t.Context(), func(ctx context.Context, label string, members []prompt.Example, seed uint64) ([]prompt.Example, error) {
		return maker.Write(ctx, h.Task, terms, label, members, seed)
	}, 1, 1)
	expect.NoError(t, err)
	expect.Equal(t, "row.Conclusion", row.Conclusion, Within)
	expect.Max(t, "row.Verbatim", row.Verbatim, 0)
}
