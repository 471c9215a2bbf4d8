package choose

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestModelWorlds is the check of whole mechanisms with a model in it: the grader judges all
// that draws can give from adjacent data sets.
func TestModelWorlds(t *testing.T) {
	for name, l := range schemes {
		o, _ := scene(t, of(audience...), choice(l, 2, 1.2))
		p := distributionOf(t, o, of(audience...))
		for _, changed := range [][]string{
			{likes("1467"), audience[1], audience[2], audience[3]},
			{likes("no way"), audience[1], audience[2], audience[3]},
			{canary + " of another kind", audience[1], audience[2], audience[3]},
			audience[1:],
		} {
			if o.Choice.Draw.Adjacency() == privacy.ReplaceOne != (len(changed) == len(audience)) {
				continue
			}
			q := distributionOf(t, o, of(changed...))
			for epsilon, delta := range (trial{Choice: o.Choice}).declared(t) {
				if d := max(divergence(p, q, epsilon), divergence(q, p, epsilon)); d > delta+1e-12 {
					t.Errorf("%s: at ε = %v winners are %v apart, declared is %v", name, epsilon, d, delta)
				}
			}
			if divergence(p, q, 0) < 0.01 {
				t.Errorf("%s: the record changes nothing", name)
			}
		}
	}
}

// misfit of counts to a distribution, in units of what happens with probability 1e-9 at most over
// all outcomes (Chernoff's bound, a hundred of them and both sides).
func misfit(counts map[string]float64, l distribution, runs float64) float64 {
	for name := range counts {
		if _, known := l[name]; !known {
			return math.Inf(1)
		}
	}
	worst := 0.0
	for name, p := range l {
		worst = max(worst, runs*relative(counts[name]/runs, min(1, p))/math.Log(2*100/1e-9))
	}
	return worst
}

// relative entropy of two coins.
func relative(f, p float64) float64 {
	term := func(a, b float64) float64 {
		switch {
		case a <= 0:
			return 0
		case b <= 0:
			return math.Inf(1)
		}
		return a * math.Log(a/b)
	}
	return max(0, term(f, p)+term(1-f, 1-p))
}

// TestPlainWinnersHaveTheirChances runs what is released, with new keys: the winners of two
// rounds, the second of which depends on the first. Right code fails with probability at
// most 1e-9; another range, another rate of sampling or other records are distinguished.
func TestPlainWinnersHaveTheirChances(t *testing.T) {
	const runs = 4000
	crowd := []string{audience[0], audience[0], audience[1], audience[2]}
	for name, l := range schemes {
		width := 3.0 // of an exchange
		if l.Kind == scheme.Poisson {
			l.Rate, width = 0.6, 1.5
		}
		p := of(crowd...)
		o, _ := scene(t, p, choice(l, 2, width))
		counts := map[string]float64{}
		for range runs {
			key, err := noise.NewKey()
			if err != nil {
				t.Fatal(err)
			}
			o.Key = key
			counts[winners(t, chooser(t, o))]++
		}
		if x := misfit(counts, distributionOf(t, o, p), runs); x > 1 {
			t.Errorf("%s: %v where %v is right, %.1f times the limit", name, counts, distributionOf(t, o, p), x)
		}
		wrong := func(what string, change func(*Options)) {
			other := o
			change(&other)
			if x := misfit(counts, distributionOf(t, other, other.Pool.(*pool)), runs); x <= 1 {
				t.Errorf("%s: winners pass for those of %s, %.2f times the limit", name, what, x)
			}
		}
		wrong("half the range", func(o *Options) { o.Choice.Range /= 2 })
		wrong("twice the range", func(o *Options) { o.Choice.Range *= 2 })
		wrong("other records", func(o *Options) { o.Pool = of(audience[3], audience[3], audience[1], audience[2]) })
		if l.Kind == scheme.Poisson {
			wrong("a higher rate of sampling", func(o *Options) { o.Choice.Draw.Rate = 1 })
		} else {
			wrong("a larger draw", func(o *Options) { o.Choice.Draw.Take = 4 })
		}
	}
}

// TestUnitsHaveOneVoice: of a unit with many records, one is drawn: how often is as with
// one record.
func TestUnitsHaveOneVoice(t *testing.T) {
	const runs = 2000
	crowd := &pool{parts: [][][]string{{{likes("0"), likes("0"), likes("0"), likes("1")}, {likes("2")}}}}
	o, _ := scene(t, crowd, choice(scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.8}, 1, 3))
	counts := map[string]float64{}
	for range runs {
		key, err := noise.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		o.Key = key
		crowd.read = nil
		counts[winners(t, chooser(t, o))]++
		if len(crowd.read) > 2 {
			t.Fatalf("%d records of two units are read", len(crowd.read))
		}
	}
	if x := misfit(counts, distributionOf(t, o, crowd), runs); x > 1 {
		t.Errorf("%v where %v is right, %.1f times the limit", counts, distributionOf(t, o, crowd), x)
	}
	// As if all records were units.
	apart := of(likes("0"), likes("0"), likes("0"), likes("1"), likes("2"))
	if x := misfit(counts, distributionOf(t, o, apart), runs); x <= 1 {
		t.Errorf("winners pass for those of all records, %.2f times the limit", x)
	}
}

// TestRoundsHaveDrawsOfTheirOwn: whether a unit is drawn in one round says nothing about
// the next, nor about another part. False reject rate 1e-9.
func TestRoundsHaveDrawsOfTheirOwn(t *testing.T) {
	const runs, rate = 3000, 0.3
	crowd := &pool{parts: [][][]string{{{likes("0")}}, {{likes("1")}}}}
	o, _ := scene(t, crowd, choice(scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: rate}, 2, 1))
	o.Parts = 2
	counts, want := map[string]float64{}, distribution{}
	for code := range 16 {
		p := 1.0
		for bit := range 4 {
			if code>>bit&1 == 1 {
				p *= rate
			} else {
				p *= 1 - rate
			}
		}
		want[fmt.Sprintf("%04b", code)] = p
	}
	for range runs {
		key, err := noise.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		o.Key = key
		c := chooser(t, o)
		code := 0
		for round := range int64(2) {
			crowd.read = nil
			if _, err := c.sampler.Records(t.Context(), round); err != nil {
				t.Fatal(err)
			}
			for _, ordinal := range crowd.read {
				code |= 1 << (2*round + (ordinal-1)/100)
			}
		}
		counts[fmt.Sprintf("%04b", code)]++
	}
	if x := misfit(counts, want, runs); x > 1 {
		t.Errorf("draws of rounds and parts are %v, not %v: %.1f times the limit", counts, want, x)
	}
}

// TestRoundsDrawOnce: a round makes its own draw and no other, so that what a choice draws grows with its
// rounds and not with their square. The draw is the one that it has among all of them, in whichever order
// rounds are asked for and by whichever process.
func TestRoundsDrawOnce(t *testing.T) {
	const rounds, rate = 40, 0.5
	crowd := &pool{parts: make([][][]string, 2)}
	for i := range 60 {
		crowd.parts[i%2] = append(crowd.parts[i%2], []string{likes("0"), likes("1"), likes("2")})
	}
	often := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: rate}
	o, _ := scene(t, crowd, choice(often, rounds, 1))
	o.Parts, o.Key = 2, noise.KeyFromSeed(7)
	// All rounds of a part, made together.
	var together [rounds][]seal.Ref
	total := 0
	for part := range o.Parts {
		samples, err := draw.NewDrawer(crowd, o.Key.Derive("choose")).Draw(often, draw.Text{Index: uint64(part), Part: part}, rounds)
		if err != nil {
			t.Fatal(err)
		}
		for round, s := range samples {
			for _, some := range s.Prompts {
				together[round] = append(together[round], some...)
				total += len(some)
			}
		}
	}
	c := chooser(t, o)
	crowd.drawn = 0
	ask := func(c *Chooser, round int64) {
		t.Helper()
		before := crowd.drawn
		crowd.read, crowd.asked = nil, nil
		if _, err := c.sampler.Records(t.Context(), round); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(crowd.asked, together[round]) {
			t.Errorf("round %d has another draw by itself than among all", round+1)
		}
		if n := crowd.drawn - before; n != len(together[round]) {
			t.Errorf("round %d has %d records and drew %d", round+1, len(together[round]), n)
		}
	}
	for round := range int64(rounds) {
		ask(c, round)
	}
	if crowd.drawn != total {
		t.Errorf("%d rounds drew %d records, and have %d", rounds, crowd.drawn, total)
	}
	again := chooser(t, o) // after a crash
	for _, round := range []int64{rounds - 1, 3, 0, 3} {
		ask(again, round)
	}
}

// TestOneDrawForAText: a scheme with one draw for a text has no second one, which would be the same.
func TestOneDrawForAText(t *testing.T) {
	d := draw.NewDrawer(of(audience...), noise.KeyFromSeed(1))
	once := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.5}
	for step, fine := range map[int64]bool{0: true, 1: false, -1: false} {
		if _, err := d.DrawStep(once, draw.Text{}, step); (err == nil) != fine {
			t.Errorf("draw %d: %v", step+1, err)
		}
	}
}
