package accountant

import (
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
)

// TestErrorsOfTheTransformArePaid: whatever a composition may have got wrong counts against the
// claim. Rounding errors of transforms are far below δ where they are small, so each is made
// large here: δ and ε have to grow by it, and their lower ends must not.
func TestErrorsOfTheTransformArePaid(t *testing.T) {
	g := grid{h: 1e-3}
	up, low := leafSource{gaussianPair{0.3}, 0.1}.build(remove, g, 1e-20)
	parts := []part{{up: up, low: low, n: 50}}
	const theta, epsilon, delta = 3, 0.2, 1e-3
	c, ok := compose(parts, theta, window{lo: -2, hi: 4})
	if !ok {
		t.Fatal("nothing was composed")
	}
	if !(c.err >= fftError(len(c.up))*1e-3) || c.err > 1e-9 {
		t.Errorf("the error of the transform is said to be %v", c.err)
	}
	lower, upper := c.delta(epsilon, epsilon)
	epsilonLow, epsilonHigh := c.lowerEpsilon(delta), c.upperEpsilon(delta)
	if !(lower > 0 && upper < 1 && epsilonLow > 0 && epsilonHigh < 2) {
		t.Fatalf("δ in [%v, %v], ε in [%v, %v]: nothing to compare with", lower, upper, epsilonLow, epsilonHigh)
	}
	for name, wrong := range map[string]struct {
		change       func(*composition)
		upper, lower bool // which ends suffer
	}{
		"the transform":               {func(c *composition) { c.err = 1e-3 }, true, true},
		"mass above the window":       {func(c *composition) { c.right = delta / 10 }, true, false},
		"outcomes of one side alone":  {func(c *composition) { c.infUp = delta / 10 }, true, false},
		"mass that parts have lost":   {func(c *composition) { c.lost = 1e-3 }, true, false},
		"mass that parts have gained": {func(c *composition) { c.gained = 1e-3 }, false, true},
		"folded mass":                 {func(c *composition) { c.fold = delta / 10 }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			changed := *c
			wrong.change(&changed)
			from, to := changed.delta(epsilon, epsilon)
			bottom, top := changed.lowerEpsilon(delta), changed.upperEpsilon(delta)
			if wrong.upper && !(to > upper*(1+1e-6) && top > epsilonHigh*(1+1e-6)) {
				t.Errorf("%s does not count: δ ≤ %v and ε ≤ %v, before %v and %v", name, to, top, upper, epsilonHigh)
			}
			if wrong.lower && !(from < lower*(1-1e-6) && bottom < epsilonLow*(1-1e-6)) {
				t.Errorf("%s does not count: δ ≥ %v and ε ≥ %v, before %v and %v", name, from, bottom, lower, epsilonLow)
			}
		})
	}
}

// TestFilterConcurrentLastStep: of many who ask for the last step of a budget at the same
// moment, one gets it.
func TestFilterConcurrentLastStep(t *testing.T) {
	step := privacy.Poisson{Q: 0.1, Event: privacy.Pure{Epsilon: 1}}
	for range 300 {
		f, err := NewRDPFilter(0.17, 1e-6) // one such step is ln(1+0.1·(e−1)) = 0.158 at most
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		granted, begin := 0, make(chan struct{})
		for range 8 {
			wg.Go(func() {
				<-begin
				if f.Spend(step, privacy.AddRemove) == nil {
					mu.Lock()
					granted++
					mu.Unlock()
				}
			})
		}
		close(begin)
		wg.Wait()
		if granted != 1 {
			t.Fatalf("%d of 8 got the last step of a budget", granted)
		}
	}
}
