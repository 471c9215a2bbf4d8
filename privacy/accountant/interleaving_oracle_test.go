package accountant

import (
	"fmt"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
)

// interleavedGame is a game with steps of several kinds, in any order that the adversary likes
// after what it has seen. Losses are whole multiples of h.
type interleavedGame struct {
	h     float64
	kinds []stepKind
	known map[string]float64
}

// stepKind is boundedrange(width·h), of which each step has a t of the adversary's choice, or
// pure(width·h), or one of these with t fixed.
type stepKind struct {
	width int
	pure  bool
	fixed int // t/h, −1 for a free choice
}

func (g *interleavedGame) value(left []int, i int) float64 {
	key := fmt.Sprint(left, i)
	if v, ok := g.known[key]; ok {
		return v
	}
	best := math.Max(0, -math.Expm1(-float64(i)*g.h)) // stop
	for k, n := range left {
		if n == 0 {
			continue
		}
		rest := append([]int{}, left...)
		rest[k]--
		kind := g.kinds[k]
		if kind.pure {
			p := 1 / (1 + math.Exp(-float64(kind.width)*g.h))
			best = math.Max(best, p*g.value(rest, i+kind.width)+(1-p)*g.value(rest, i-kind.width))
			continue
		}
		for t := 0; t <= kind.width; t++ {
			if kind.fixed >= 0 && t != kind.fixed {
				continue
			}
			p := math.Expm1(float64(t-kind.width)*g.h) / math.Expm1(-float64(kind.width)*g.h)
			best = math.Max(best, p*g.value(rest, i+t)+(1-p)*g.value(rest, i+t-kind.width))
		}
	}
	g.known[key] = best
	return best
}

// TestInterleavingOracle: bounded-range steps of two ranges and pure steps, in whatever order
// an adversary that looks prefers, reach no more than the upper end for their composition,
// in which each kind enters as one pair. Ends for ranges a tenth less are exceeded, and so are
// the ends of the game in which t does not follow what was seen.
func TestInterleavingOracle(t *testing.T) {
	looking := 0
	for _, k := range []struct {
		h           float64
		a, b, p     int // widths
		na, nb, np  int // steps
		fixed, then int
	}{
		{0.05, 12, 8, 6, 3, 3, 2, 6, 4},
		{0.1, 8, 10, 5, 2, 3, 3, 4, 5},
		{0.2, 6, 4, 3, 3, 2, 2, 3, 2},
		{0.02, 20, 14, 9, 4, 2, 1, 10, 7},
	} {
		game := func(fixed, then int) *interleavedGame {
			return &interleavedGame{k.h, []stepKind{{k.a, false, fixed}, {k.b, false, then}, {k.p, true, -1}}, map[string]float64{}}
		}
		free, blind := game(-1, -1), game(k.fixed, k.then)
		event := func(scale float64) privacy.Event {
			return mustParse(t, fmt.Sprintf("compose(repeat(%d, boundedrange(%v)), repeat(%d, boundedrange(%v)), repeat(%d, pure(%v)))",
				k.na, scale*k.h*float64(k.a), k.nb, scale*k.h*float64(k.b), k.np, k.h*float64(k.p)))
		}
		found := false
		for _, share := range []float64{0, 0.1, 0.2, 0.35} {
			i := int(share * float64(k.a*k.na+k.b*k.nb+k.p*k.np))
			epsilon := float64(i) * k.h
			truth := free.value([]int{k.na, k.nb, k.np}, -i)
			got, err := PLD{Tolerance: 0.01}.Delta(event(1), privacy.AddRemove, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			if got.Upper < truth*(1-1e-9) {
				t.Errorf("%+v at ε = %v: the game reaches %v, the upper end is %v", k, epsilon, truth, got.Upper)
			}
			if got.Upper > truth*1.1+1e-9 {
				t.Errorf("%+v at ε = %v: the game reaches %v, and the upper end is %v", k, epsilon, truth, got.Upper)
			}
			less, err := PLD{Tolerance: 0.01}.Delta(event(0.9), privacy.AddRemove, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			found = found || less.Upper < truth
			if blind.value([]int{k.na, k.nb, k.np}, -i) < truth*(1-1e-4) {
				looking++
			}
		}
		if !found {
			t.Errorf("%+v: ranges a tenth less are not found", k)
		}
	}
	if looking == 0 {
		t.Error("looking is worth nothing anywhere: the game has no teeth")
	}
}
