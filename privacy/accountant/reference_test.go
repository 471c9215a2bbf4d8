package accountant

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
)

// TestPlainReference holds the accountants against values that were computed in many
// digits outside of Go: closed forms, exact sums over outcomes and quadratures in
// mpmath, contour integrals in extended precision. The file names the source of
// each. They reach σ from 1e-3 to 1e4, rates from 1e-9 to 1, δ from 1e-15 to 0.5,
// and up to ten million steps.
func TestPlainReference(t *testing.T) {
	raw, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Sources []string
		Cases   []struct {
			Event     string
			Adjacency privacy.Adjacency
			Epsilon   float64
			LogDelta  float64 `json:"log_delta"`
			Given     string
			OneSided  bool `json:"one_sided"` // of one direction only: a lower bound
			Source    int
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 200 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		e := mustParse(t, c.Event)
		delta := math.Exp(c.LogDelta)
		for _, a := range []Accountant{Auto{Tolerance: 0.01}, RDP{}} {
			var got privacy.Interval
			var truth, slack float64
			if c.Given == "delta" {
				got, err = a.Epsilon(e, c.Adjacency, delta)
				truth, slack = c.Epsilon, 1e-9*(1+c.Epsilon)*math.Min(1, c.Epsilon+1e-6)
			} else {
				got, err = a.Delta(e, c.Adjacency, c.Epsilon)
				truth, slack = delta, 1e-8*delta+1e-300
			}
			if unsupported(t, a, e, err) {
				continue
			}
			if got.Upper < truth-slack {
				t.Errorf("%s: %s at ε = %v, δ = e^%v: the upper end for the other is %v (%s)", a.Name(), c.Event, c.Epsilon, c.LogDelta, got.Upper, file.Sources[c.Source])
			}
			if !c.OneSided && got.Lower > truth+slack {
				t.Errorf("%s: %s at ε = %v, δ = e^%v: the lower end for the other is %v (%s)", a.Name(), c.Event, c.Epsilon, c.LogDelta, got.Lower, file.Sources[c.Source])
			}
		}
	}
}
