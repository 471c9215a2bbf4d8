package accountant

import (
	"math"
	"testing"

	"github.com/sotto-dp/sotto/privacy"
)

// Enclosures of one number have it in common. Where they have none, one is wrong, and the
// lesser ε could be the wrong one.
func TestAutoContradiction(t *testing.T) {
	from := func(lower, upper float64) Result {
		return Result{privacy.Interval{Lower: lower, Upper: upper}, "test", ""}
	}
	for _, c := range []struct {
		one, other Result
		ok         bool
	}{
		{from(1, 2), from(1.5, 3), true},
		{from(1, 2), from(0, 1), true},
		{from(1, math.Inf(1)), from(math.Inf(1), math.Inf(1)), true},
		{from(1, 2), from(2.001, 3), false},
		{from(1, 2), from(0, 0.999), false},
		{from(0, 2), from(math.Inf(1), math.Inf(1)), false},
		{from(0, math.NaN()), from(0, 1), false},
		{from(0, 1), from(math.NaN(), 1), false},
	} {
		best := Result{Interval: privacy.Interval{Upper: math.Inf(1)}}
		err := best.meet(c.one)
		if err == nil {
			err = best.meet(c.other)
		}
		if (err == nil) != c.ok {
			t.Errorf("[%v, %v] and [%v, %v]: %v", c.one.Lower, c.one.Upper, c.other.Lower, c.other.Upper, err)
		}
	}
}
