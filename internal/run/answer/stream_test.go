package answer

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
)

// TestStream: what is shown only grows, is always the beginning of the answer, and is it
// in the end, whatever stop strings and broken letters there are.
func TestStream(t *testing.T) {
	p := newPlace(t)
	ledgertest.Checks(t, 60)
	shown, grew := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		m := newToy()
		m.alphabet = rapid.SampledFrom([]string{"ab ", "ab.\n", "aé ", "END ", "\xc3\xa9a"}).Draw(rt, "alphabet")
		m.ends = rapid.Float64Range(-3, 3).Draw(rt, "ends")
		of := planFor(clipped())
		of.Task.Stop = rapid.SampledFrom([][]string{{"\n"}, {"END"}, {"ab", "\n\n"}, {" a"}}).Draw(rt, "stop")
		of.Tokens = rapid.IntRange(1, 12).Draw(rt, "tokens")
		o := p.options(t, of, m)
		seed := rapid.Uint64().Draw(rt, "seed")
		o.Env.Seed = &seed
		var all []string
		a, err := p.session(t, o).Answer(t.Context(), "who?", func(soFar string) { all = append(all, soFar) })
		if err != nil {
			rt.Fatal(err)
		}
		last := ""
		for _, s := range all {
			if !strings.HasPrefix(s, last) || !strings.HasPrefix(a.Text, s) {
				rt.Errorf("%q after %q, of %q", s, last, a.Text)
			}
			last = s
		}
		if last != a.Text {
			rt.Errorf("%q was shown of %q", last, a.Text)
		}
		shown += len(all)
		if len(all) > 2 {
			grew++
		}
	})
	if shown == 0 || grew == 0 {
		t.Error("nothing was streamed step by step")
	}
}

// TestHandedBack: an adaptive budget is charged for the steps that were taken, if each has
// a draw of its own, and else for all.
func TestHandedBack(t *testing.T) {
	for _, c := range []struct {
		name        string
		method      decode.Method
		composition ledger.Composition
		back        bool
	}{
		{"adaptive, a draw a token", gaussian(), ledger.Adaptive, true},
		{"sums, a draw a token", gaussian(), ledger.Sums, false},
		{"adaptive, a draw an answer", clipped(), ledger.Adaptive, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.budget(t, ledger.Budget{Epsilon: 1000, Delta: 1e-3, Composition: c.composition})
			m := newToy()
			m.ends = 3
			o := p.options(t, planFor(c.method), m)
			o.Parallel = 3
			s := p.session(t, o)
			terms, err := privacy.Terms(s.event)
			must(t, err)
			cost := float64(runs(terms))
			if c.composition == ledger.Sums {
				cost *= 20 // all of them are reserved at once
			}
			short, want, last := 0, 0., 0.
			must(t, s.All(t.Context(), inputs(20), func(i int, a *Answer) error {
				if a.Steps < 6 {
					short++
				}
				if c.back {
					want += float64(a.Steps)
				} else if c.composition != ledger.Sums || want == 0 {
					want += cost
				}
				last = a.Spent
				return nil
			}))
			if short == 0 {
				t.Fatal("no answer ended early: nothing was tested")
			}
			if last != want {
				t.Errorf("%v is spent, want %v", last, want)
			}
			for _, charge := range p.charges(t) {
				if charge.State != ledger.Committed {
					t.Errorf("%+v", charge)
				}
			}
		})
	}
}
