package draw_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/draw/drawtest"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// units is a pool of that many units with ten records each.
type units int

func (u units) Size(int) seal.Count { return seal.NewCount(int(u)) }

func (u units) Choose(_, unit int, s *noise.Stream) (seal.Ref, error) {
	return seal.NewRef(int64(unit), int64(s.Uint64n(10))), nil
}

func (u units) Fetch(context.Context, []seal.Ref) ([]seal.Record, error) {
	return nil, errors.New("drawing reads no record")
}

// name tells samples apart by their units.
func name(s draw.Sample) string {
	o := drawtest.Outcome{Empty: s.Empty}
	for _, prompt := range s.Prompts {
		var in []int
		for _, r := range prompt {
			unit, _ := seal.Place(r)
			in = append(in, int(unit))
		}
		o.Prompts = append(o.Prompts, in)
	}
	return o.String()
}

func newKey(t testing.TB) noise.Key {
	t.Helper()
	key, err := noise.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// outcomes draws with a fresh key: all tokens of one text, or as many texts. Disjoint
// batches need a fresh key for each.
func outcomes(t testing.TB, l scheme.Scheme, n, draws int) []string {
	t.Helper()
	key := newKey(t)
	drawer := draw.NewDrawer(units(n), key)
	var out []string
	for i := 0; len(out) < draws; i++ {
		if l.Kind == scheme.Disjoint {
			drawer = draw.NewDrawer(units(n), noise.KeyFromSeed(key.Stream("keys", uint64(i)).Uint64()))
		}
		samples, err := drawer.Draw(l, draw.Text{Index: uint64(i), Place: int64(i) % max(1, l.Batches)}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			out = append(out, name(s))
		}
	}
	return out[:draws]
}

// TestTheRunningSamplerIsTheAccountedOne holds draws of every scheme against its exact
// outcomes. A right drawer fails with probability at most 1e-9 a case; drawers of the
// schemes in wrong pass with at most that.
func TestTheRunningSamplerIsTheAccountedOne(t *testing.T) {
	const draws = 6000
	poisson := func(per scheme.Per, rate float64, prompts, perPrompt int) scheme.Scheme {
		return scheme.Scheme{Kind: scheme.Poisson, Per: per, Rate: rate, Prompts: prompts, PerPrompt: perPrompt}
	}
	fixed := func(per scheme.Per, take, of int64, prompts, perPrompt int) scheme.Scheme {
		return scheme.Scheme{Kind: scheme.FixedSize, Per: per, Take: take, Of: of, Prompts: prompts, PerPrompt: perPrompt}
	}
	cases := []struct {
		name     string
		sampling scheme.Scheme
		n        int
		wrong    []scheme.Scheme
	}{
		{"poisson per text", poisson(scheme.PerText, 0.8, 0, 0), 4, []scheme.Scheme{poisson(scheme.PerText, 0.88, 0, 0), fixed(scheme.PerText, 2, 4, 0, 0)}},
		{"poisson per token", poisson(scheme.PerToken, 0.8, 0, 0), 4, []scheme.Scheme{poisson(scheme.PerToken, 0.88, 0, 0), poisson(scheme.PerToken, 0.72, 0, 0)}},
		{"poisson onto prompts", poisson(scheme.PerToken, 0.8, 3, 2), 3, []scheme.Scheme{poisson(scheme.PerToken, 0.88, 3, 2), poisson(scheme.PerToken, 0.8, 4, 2), poisson(scheme.PerToken, 0.8, 3, 1)}},
		{"all onto prompts", poisson(scheme.PerToken, 1, 2, 2), 5, []scheme.Scheme{poisson(scheme.PerToken, 1, 2, 3)}},
		{"fixed size", fixed(scheme.PerToken, 2, 5, 0, 0), 5, []scheme.Scheme{poisson(scheme.PerToken, 0.4, 0, 0)}},
		{"fixed size onto prompts", fixed(scheme.PerText, 3, 4, 2, 2), 4, []scheme.Scheme{fixed(scheme.PerText, 3, 4, 2, 1)}},
		{"disjoint", scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 2}, 4, []scheme.Scheme{{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 3}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			right := distributionOf(drawtest.Outcomes(c.sampling, c.n))
			if err := right.check(outcomes(t, c.sampling, c.n, draws)); err != nil {
				t.Errorf("the drawer does not follow its scheme: %v (false reject rate %v)", err, falseReject)
			}
			for _, w := range c.wrong {
				if m := right.miss(distributionOf(drawtest.Outcomes(w, c.n)), draws); m > missed {
					t.Errorf("too few draws to tell %+v: missed with probability up to %v", w, m)
				}
				if right.check(outcomes(t, w, c.n, draws)) == nil {
					t.Errorf("draws of %+v pass for %+v", w, c.sampling)
				}
			}
		})
	}
}

// TestSmallRates tosses four million coins at a rate such as texts are written with, and
// tells it from one that is a tenth off. Both errors have probability at most 1e-9.
func TestSmallRates(t *testing.T) {
	const n, texts, rate = 5000, 1000, 32. / 6908
	included := func(rate float64) float64 {
		drawer := draw.NewDrawer(units(n), newKey(t))
		total := 0
		for i := range texts {
			samples, err := drawer.Draw(scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: rate}, draw.Text{Index: uint64(i)}, 60)
			if err != nil {
				t.Fatal(err)
			}
			if len(samples) != 1 {
				t.Fatalf("a text has %d draws", len(samples))
			}
			total += len(samples[0].Prompts)
		}
		return float64(total) / (n * texts)
	}
	for _, c := range []struct {
		rate float64
		ok   bool
	}{{rate, true}, {rate * 1.1, false}, {rate * 0.9, false}} {
		if f := included(c.rate); (n*texts*divergence(f, rate) <= limit(1)) != c.ok {
			t.Errorf("drawn at %v, a unit was included at %v: accepted as %v is %v", c.rate, f, rate, !c.ok)
		}
	}
}

// TestDisjointBatches reads all batches of a part: every unit is in exactly one, any
// with the same probability, whatever order texts come in.
func TestDisjointBatches(t *testing.T) {
	const n, batches, draws = 3, 3, 4000
	l := scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: batches}
	// The same as putting all units into prompts.
	right := distributionOf(drawtest.Outcomes(scheme.Scheme{Kind: scheme.Poisson, Rate: 1, Prompts: batches, PerPrompt: n}, n))
	key := newKey(t)
	var spread, independent []string
	for i := range draws {
		drawer := draw.NewDrawer(units(n), noise.KeyFromSeed(key.Stream("keys", uint64(i)).Uint64()))
		var all, loose draw.Sample
		for place := range int64(batches) {
			put(&all, drawn(t, drawer, l, draw.Text{Index: uint64(place), Place: place}))
			put(&loose, drawn(t, drawer, scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 1. / batches}, draw.Text{Index: uint64(place)}))
		}
		spread, independent = append(spread, name(all)), append(independent, name(loose))
	}
	if err := right.check(spread); err != nil {
		t.Errorf("batches are not a uniform partition: %v (false reject rate %v)", err, falseReject)
	}
	if right.check(independent) == nil {
		t.Error("independent draws pass for disjoint batches")
	}
}

func drawn(t testing.TB, d *draw.Drawer, l scheme.Scheme, text draw.Text) draw.Sample {
	t.Helper()
	samples, err := d.Draw(l, text, 1)
	if err != nil {
		t.Fatal(err)
	}
	return samples[0]
}

// put adds a batch to a sample as one prompt.
func put(all *draw.Sample, batch draw.Sample) {
	if len(batch.Prompts) == 0 {
		all.Empty++
		return
	}
	all.Prompts = append(all.Prompts, slices.Concat(batch.Prompts...))
}

// TestManyBatches spreads more units than are assigned at a time, and asks for batches
// out of order.
func TestManyBatches(t *testing.T) {
	const n, batches = 200_000, 40
	l := scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: batches}
	key := newKey(t)
	up, down := draw.NewDrawer(units(n), key), draw.NewDrawer(units(n), key)
	of := make([]int, n)
	got := map[int64]string{}
	for place := range int64(batches) {
		s := drawn(t, up, l, draw.Text{Place: place})
		got[place] = name(s)
		for _, prompt := range s.Prompts {
			unit, _ := seal.Place(prompt[0])
			of[unit]++
		}
	}
	for unit, times := range of {
		if times != 1 {
			t.Fatalf("unit %d is in %d batches", unit, times)
		}
	}
	for place := int64(batches) - 1; place >= 0; place -= 7 {
		if name(drawn(t, down, l, draw.Text{Place: place})) != got[place] {
			t.Fatalf("batch %d depends on which were asked for before", place)
		}
	}
	if _, err := up.Draw(l, draw.Text{Place: batches}, 1); err == nil {
		t.Error("there is one batch more than there are")
	}
	halves := l
	halves.Batches = 2
	if got := len(drawn(t, up, halves, draw.Text{}).Prompts); got < n/3 {
		t.Errorf("half of %d units are %d: the batches are of another distribution", n, got)
	}
}

// TestFreshDraws looks at one unit in two tokens of two texts, at rate one half: the four
// coins are independent. Draws that repeat from token to token, or from text to text, are
// rejected; false reject rate 1e-9.
func TestFreshDraws(t *testing.T) {
	const draws = 4000
	l := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.5}
	right := distributionOf(drawtest.Outcomes(l, 4))
	key := newKey(t)
	var fresh, token, text []string
	for i := range draws {
		drawer := draw.NewDrawer(units(1), noise.KeyFromSeed(key.Stream("keys", uint64(i)).Uint64()))
		var in [2][2]bool
		for index := range in {
			samples, err := drawer.Draw(l, draw.Text{Index: uint64(index)}, 2)
			if err != nil {
				t.Fatal(err)
			}
			for step, s := range samples {
				in[index][step] = len(s.Prompts) > 0
			}
		}
		coins := func(at ...bool) string {
			var o drawtest.Outcome
			for coin, heads := range at {
				if heads {
					o.Prompts = append(o.Prompts, []int{coin})
				}
			}
			return o.String()
		}
		fresh = append(fresh, coins(in[0][0], in[0][1], in[1][0], in[1][1]))
		token = append(token, coins(in[0][0], in[0][0], in[1][0], in[1][0]))
		text = append(text, coins(in[0][0], in[0][1], in[0][0], in[0][1]))
	}
	if err := right.check(fresh); err != nil {
		t.Errorf("draws are not fresh: %v", err)
	}
	if right.check(token) == nil {
		t.Error("the same draw at every token passes as fresh ones")
	}
	if right.check(text) == nil {
		t.Error("the same draws in every text pass as fresh ones")
	}
}

// TestNoTwoDrawsAreEqual compares whole samples of 500 units. Two independent ones are
// equal with probability below 2^-500.
func TestNoTwoDrawsAreEqual(t *testing.T) {
	for _, l := range []scheme.Scheme{
		{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.5},
		{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 1, Prompts: 4, PerPrompt: 500},
		{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 250, Of: 500},
	} {
		key := newKey(t)
		seen := map[string]string{}
		for text := range 10 {
			samples, err := draw.NewDrawer(units(500), key).Draw(l, draw.Text{Index: uint64(text)}, 20)
			if err != nil {
				t.Fatal(err)
			}
			if len(samples) != 20 {
				t.Fatalf("%d draws for 20 tokens", len(samples))
			}
			for step, s := range samples {
				here := fmt.Sprintf("text %d token %d", text, step)
				if there, ok := seen[name(s)]; ok {
					t.Errorf("%+v: %s has the draw of %s", l, here, there)
				}
				seen[name(s)] = here
			}
		}
	}
}

func TestTheSameKeyDrawsTheSame(t *testing.T) {
	l := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.3, Prompts: 5, PerPrompt: 2}
	all := func(key noise.Key, texts ...uint64) map[uint64]string {
		drawer := draw.NewDrawer(units(100), key)
		out := map[uint64]string{}
		for _, text := range texts {
			samples, err := drawer.Draw(l, draw.Text{Index: text}, 5)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range samples {
				var places []int64
				for _, prompt := range s.Prompts {
					for _, r := range prompt {
						_, place := seal.Place(r)
						places = append(places, place)
					}
				}
				out[text] += fmt.Sprint(name(s), places)
			}
		}
		return out
	}
	key := newKey(t)
	once, again, other := all(key, 0, 1, 2), all(key, 2, 0, 1), all(newKey(t), 0, 1, 2)
	for text, want := range once {
		if again[text] != want {
			t.Errorf("text %d draws other records in another order of texts", text)
		}
		if other[text] == want {
			t.Errorf("text %d draws the same with another key", text)
		}
	}
}

// TestPlantedLayouts: the scheme rejects ways to fill prompts that were seen in programs.
func TestPlantedLayouts(t *testing.T) {
	const draws = 6000
	l := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.6, Prompts: 2, PerPrompt: 1}
	right := distributionOf(drawtest.Outcomes(l, 3))
	for bug, layOut := range map[string]func([]int, *noise.Stream) drawtest.Outcome{
		// One record more shifts all later ones to other prompts.
		"consecutive chunks": func(drawn []int, _ *noise.Stream) drawtest.Outcome {
			o := drawtest.Outcome{Empty: 2}
			for _, u := range drawn[:min(2, len(drawn))] {
				o.Prompts, o.Empty = append(o.Prompts, []int{u}), o.Empty-1
			}
			return o
		},
		"the first of a prompt is kept": func(drawn []int, s *noise.Stream) drawtest.Outcome {
			var bins [2][]int
			for _, u := range drawn {
				b := s.Uint64n(2)
				bins[b] = append(bins[b], u)
			}
			var o drawtest.Outcome
			for _, b := range bins {
				if len(b) == 0 {
					o.Empty++
					continue
				}
				o.Prompts = append(o.Prompts, b[:1])
			}
			return o
		},
	} {
		key := newKey(t)
		rate, err := noise.ProbabilityFloat(l.Rate)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for i := range draws {
			s := key.Stream("planted", uint64(i))
			drawn, err := noise.NewInclusion(rate).Draw(s, 3, nil)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, layOut(drawn, s).String())
		}
		if right.check(out) == nil {
			t.Errorf("%s: passes", bug)
		}
	}
}
