package plot

import (
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRankingWithinTheViewBox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Ranking{Title: "all", X: Axis{Label: "accuracy", Max: 100}}
		for range rapid.IntRange(1, 30).Draw(t, "rows") {
			y := rapid.Float64Range(0, 100).Draw(t, "value")
			r.Rows = append(r.Rows, RankRow{
				Name: rapid.StringN(0, 80, -1).Draw(t, "name"), Look: rapid.IntRange(0, 9).Draw(t, "look"),
				Low: y * rapid.Float64Range(0, 1).Draw(t, "low"), Value: y, Up: y + (100-y)*rapid.Float64Range(0, 1).Draw(t, "up"),
				Others: rapid.SliceOfN(rapid.Float64Range(0, 100), 0, 3).Draw(t, "others"),
			})
		}
		var b strings.Builder
		if err := r.WriteFragment(&b); err != nil {
			t.Fatal(err)
		}
		if err := within(b.String()); err != nil {
			t.Fatal(err)
		}
		if n := elements(t, b.String()); n[".dot"] != len(r.Rows) {
			t.Fatalf("%d dots for %d rows", n[".dot"], len(r.Rows))
		}
	})
}

func TestRankingRefused(t *testing.T) {
	good := RankRow{Name: "a", Low: 1, Value: 2, Up: 3}
	for name, r := range map[string]Ranking{
		"empty":       {},
		"logarithmic": {X: Axis{Log: true}, Rows: []RankRow{good}},
		"not between": {Rows: []RankRow{{Low: 3, Value: 2, Up: 4}}},
		"infinite":    {Rows: []RankRow{good, {Low: 1, Value: 2, Up: math.Inf(1)}}},
		"other NaN":   {Rows: []RankRow{{Low: 1, Value: 2, Up: 3, Others: []float64{math.NaN()}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := r.WriteFragment(io.Discard); err == nil {
				t.Error("drawn")
			}
		})
	}
}

// fataler is what both kinds of tests have.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}
