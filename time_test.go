package sotto

import (
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/plan"
)

// TestTimeLeft: a plan is made for the time that was asked for, less what a model took that writes the pool and sees no
// record, and for half of it at least. Nothing else counts, however long ago the run began: reading records takes as long
// as there are records.
func TestTimeLeft(t *testing.T) {
	for _, c := range []struct{ time, hosted, want time.Duration }{
		{0, 0, plan.DefaultTime},
		{-1, 0, plan.DefaultTime},
		{10 * time.Minute, 0, 10 * time.Minute},
		{10 * time.Minute, 2 * time.Minute, 8 * time.Minute},
		{10 * time.Minute, 9 * time.Minute, 5 * time.Minute},
	} {
		s := &synthesis{options: SynthesizeOptions{Time: c.time}, hosted: c.hosted}
		if got := s.left(); got != c.want {
			t.Errorf("of %v, %v of which a host took, %v are left and not %v", c.time, c.hosted, got, c.want)
		}
	}
}
