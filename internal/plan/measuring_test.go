package plan

import (
	"math"
	"testing"
)

// TestEvidentMeasuring: with evidence more of ε says what a prompt is worth, as far as there is some left.
func TestEvidentMeasuring(t *testing.T) {
	for name, c := range map[string]struct {
		choosing ChooseRequest
		want     float64
	}{
		"without evidence": {ChooseRequest{}, DefaultMeasuring},
		"with evidence":    {ChooseRequest{Evidence: DefaultEvidence}, EvidentMeasuring},
		"little is left":   {ChooseRequest{Evidence: 0.9, Writing: 0.05}, 0.02},
		"asked for":        {ChooseRequest{Evidence: DefaultEvidence, Measuring: 0.2}, 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.choosing.measuring(); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
