package sotto_test

import (
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/plan"
)

// TestRehearseTime: a rehearsal plans what the real run would in the time that it has, and in the default time
// if it has none; the caller's request stays as it is.
func TestRehearseTime(t *testing.T) {
	work := func(d time.Duration) float64 {
		t.Helper()
		o, _ := rehearsal(t)
		o.Time = d
		done, err := rehearse(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if o.Request.Choosing.Work != 0 {
			t.Error("the caller's request was changed")
		}
		return done.Plan.Choose.Work
	}
	// The speed is measured each time, and never the same twice.
	short, usual, long := work(plan.DefaultTime/1000), work(0), work(1000*plan.DefaultTime)
	if short*10 > usual || usual*10 > long {
		t.Errorf("work of %v, %v and %v", short, usual, long)
	}
}
