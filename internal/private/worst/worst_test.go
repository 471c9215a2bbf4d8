package worst

import (
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/audit"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// sure is the confidence of these tests: what is right is refuted with a probability of 1e-9 at
// most, and seeds are fixed.
const sure = 1 - 1e-9

func all(t *testing.T) []Game {
	t.Helper()
	games, err := Games()
	if err != nil {
		t.Fatal(err)
	}
	return games
}

// plain reports whether the curve of an event is quickly computed.
func plain(g Game) bool {
	return !strings.Contains(g.Claim.String(), "poisson") && !strings.Contains(g.Claim.String(), "fixedsize")
}

// scores are those of fewer runs where one takes long.
func scores(t *testing.T, g Game) (with, without []float64) {
	t.Helper()
	runs := 20_000
	switch {
	case g.Whole && !(g.Tight && plain(g)):
		runs = 500
	case !plain(g):
		runs = 2_000
	case g.Whole:
		runs = 6_000
	}
	with, without, err := g.Runs(t.Context(), noise.KeyFromSeed(1), runs, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	return with, without
}

// TestPlainGames: no mechanism that ships is beyond its claim, and where the inputs are the worst there
// are, the audit finds much of ε: 40 % or more, with few runs at this confidence. A claim of a third of the
// range, or of three times the noise, is refuted there.
func TestPlainGames(t *testing.T) {
	for _, g := range all(t) {
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			with, without := scores(t, g)
			if !plain(g) {
				// The bound that holds for any mechanism: claims of long events take seconds.
				b, err := audit.Many(with, without, g.Delta, sure)
				if err != nil {
					t.Fatal(err)
				}
				claim := audit.Claim{Event: g.Claim, Adjacency: g.Adjacency, Delta: g.Delta}
				if e, err := claim.Epsilon(); err != nil || b.Epsilon > e {
					t.Errorf("ε is at least %v, and %v is claimed, %v", b.Epsilon, e, err)
				}
				return
			}
			claim := audit.Claim{Event: g.Claim, Adjacency: g.Adjacency, Delta: g.Delta}
			v, err := audit.Judge(with, without, claim, sure)
			if err != nil {
				t.Fatal(err)
			}
			expect.Equal(t, "v.Refuted", v.Refuted, false)
			expect.Max(t, "v.Lower.Epsilon", v.Lower.Epsilon, v.Claimed)
			expect.Max(t, "v.Shaped", v.Shaped, v.Claimed)
			if !g.Tight {
				return
			}
			if found := max(v.Shaped, v.Lower.Epsilon); found < 0.4*v.Claimed {
				t.Errorf("%s: ε = %.3f is claimed, and only %.3f is found", g.Claim, v.Claimed, found)
			}
			claim.Event = audit.Stronger(g.Claim, 1.0/3)
			if v, err = audit.Judge(with, without, claim, sure); err != nil || !v.Refuted {
				t.Errorf("%s is not refuted, %v", claim.Event, err)
			}
		})
	}
}

// TestGamesOfOthers: every method with a proof that can be played is, and names are unique.
func TestGamesOfOthers(t *testing.T) {
	var names []string
	for _, g := range all(t) {
		if slices.Contains(names, g.Name) {
			t.Errorf("%s is there twice", g.Name)
		}
		names = append(names, g.Name)
		if err := privacy.Validate(g.Claim); err != nil || g.Inputs == "" {
			t.Errorf("%s: %q, %v", g.Name, g.Inputs, err)
		}
	}
	for _, method := range []string{"gaussian", "noisymax", "radius", "clipped", "mixing", "choose", "vote", "product", "evidence", "local", "global"} {
		if !slices.Contains(names, method) {
			t.Errorf("%s is not played", method)
		}
	}
	if _, err := Find([]string{"nothing"}); err == nil || !strings.Contains(err.Error(), "clipped") {
		t.Errorf("%v", err)
	}
}

// TestRunsRepeat: a seed gives the same scores on any number of goroutines, and another one others.
func TestRunsRepeat(t *testing.T) {
	g, err := Find([]string{"global"})
	if err != nil {
		t.Fatal(err)
	}
	play := func(seed uint64, workers int) []float64 {
		with, without, err := g[0].Runs(t.Context(), noise.KeyFromSeed(seed), 500, workers, nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(with, without)
	}
	if !slices.Equal(play(1, 1), play(1, 3)) {
		t.Error("the same seed gives other scores")
	}
	if slices.Equal(play(1, 2), play(2, 2)) {
		t.Error("another seed gives the same scores")
	}
}
