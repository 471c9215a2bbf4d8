package accountant

import (
	"fmt"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
)

// The accounting of AdaDPSyn (its Theorem 7 is Theorem 9 of Wang, Balle,
// Kasiviswanathan 2019), MIT-G with 2953 records, 40 prompts of one
// demonstration, 80 steps, δ = 1/2953. The paper minimises over whole orders.
func TestRDPPublishedWithoutReplacement(t *testing.T) {
	for _, c := range []struct {
		rounds             int
		s0, s1, s2, figure float64
	}{
		{1, 15, 1.59, 6, .994},
		{1, 10, 1.17, 6, 1.982},
		{2, 10, 1.12, 6, 3.938},
		{2, 10, .90, 5, 7.964},
	} {
		e, err := privacy.Parse(fmt.Sprintf("repeat(80, fixedsize(2953, 40, compose(repeat(6, gaussian(%v)), repeat(%d, gaussian(%v)), repeat(%d, gaussian(%v)))))",
			c.s0, c.rounds+1, c.s1, c.rounds, c.s2))
		if err != nil {
			t.Fatal(err)
		}
		rho := 6*0.5/(c.s0*c.s0) + float64(c.rounds+1)*0.5/(c.s1*c.s1) + float64(c.rounds)*0.5/(c.s2*c.s2)
		step := rdpSampling{q: 40. / 2953, inner: rdpGaussian{rho}, sums: map[int64]float64{}}
		published := math.Inf(1)
		for n := int64(2); n <= 256; n++ {
			a := float64(n - 1)
			published = min(published, rdpEpsilonAt(80*step.threefold(n)/a, a, math.Log(1./2953)))
		}
		if math.Abs(published/c.figure-1) > 0.005 {
			t.Errorf("%s: published accounting gives %v, the paper has %v", e, published, c.figure)
		}
		ours, err := RDP{}.Epsilon(e, privacy.ReplaceOne, 1./2953)
		if err != nil {
			t.Fatal(err)
		}
		if !(ours.Upper < published) {
			t.Errorf("%s: default gives %v, not below the published %v", e, ours.Upper, published)
		}
	}
}
