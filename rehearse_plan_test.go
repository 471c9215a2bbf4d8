package sotto_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm/backend"
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

// TestRehearseKeepsToItsTime: where there is no time, few records are invented and asked, and few sets compared; what is
// asked for explicitly is done in any case. With plenty of time all is as by default.
func TestRehearseKeepsToItsTime(t *testing.T) {
	for _, c := range []struct {
		time                    time.Duration
		invent, items, sets     int
		records, held, deciding int
		compared                int
	}{
		{time.Millisecond, 0, 0, 0, 60, 24, 12, 1},
		{time.Millisecond, 90, 28, 2, 90, 28, 20, 2},
		{1000 * time.Hour, 0, 0, 0, 300, 100, 60, 3},
	} {
		o, _ := rehearsal(t)
		o.StandIn, o.Time, o.Invent, o.Items, o.Sets = nil, c.time, c.invent, c.items, c.sets
		done, err := rehearse(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		at := expect.At(t, "%v", c.time)
		expect.Max(at, "done.Records", done.Records, c.records)
		expect.Max(at, "done.Items", done.Items, c.held)
		if done.Items < c.deciding {
			expect.Min(at, "done.Items", done.Items, done.Records/3)
		}
		for _, row := range done.Rows {
			if row.Sets > c.compared {
				t.Errorf("%v: %d sets of %s", c.time, row.Sets, row.Examples)
			}
		}
		if done.Share != 0.5 {
			t.Errorf("%v: the run had %v of the time", c.time, done.Share)
		}
	}
}

// TestRehearsePool: another model writes the pool of a rehearsal as it does that of a run.
func TestRehearsePool(t *testing.T) {
	h := newHost(t, wrote)
	o, _ := rehearsal(t)
	o.Request.Choosing = &sotto.ChooseRequest{First: 3, Next: 3, Rounds: 2, Records: 8}
	o.Pool = sotto.Pool{Model: &backend.Spec{URL: h.URL}, Texts: 6}
	done, err := rehearse(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	made := done.Plan.Choose.Made
	if made == nil {
		t.Fatalf("made: got none")
	}
	expect.Equal(t, "made.Model", made.Model, "large")
	expect.Min(t, "number of h.received()", len(h.received()), 1)
}

// TestPlanFindsBadRequestsFirst: a request that no method can meet is refused before a model is opened or measured.
func TestPlanFindsBadRequestsFirst(t *testing.T) {
	c, err := sotto.Open(t.TempDir(), &sotto.Options{Model: backend.Spec{Model: "/no/such/model.gguf"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := sotto.Request{Task: task(), Size: 500, Epsilon: -1}
	for _, methods := range [][]string{nil, {"clipped"}} {
		if _, err = c.Plan(t.Context(), sotto.PlanOptions{Request: r, Methods: methods, Measure: true}); err == nil || !strings.Contains(err.Error(), "ε") {
			t.Errorf("%v: %v", methods, err)
		}
	}
	r.Epsilon, r.Choosing = 1, &sotto.ChooseRequest{Evidence: 0.5} // whose encoder is opened later
	if _, err = c.Plan(t.Context(), sotto.PlanOptions{Request: r, Methods: []string{"choose"}, Measure: true}); err == nil || !strings.Contains(err.Error(), "model.gguf") {
		t.Errorf("with evidence: %v", err)
	}
	r.Choosing = nil
	if _, err = c.Plan(t.Context(), sotto.PlanOptions{Request: r, Measure: true}); err == nil || !strings.Contains(err.Error(), "model.gguf") {
		t.Errorf("a good request needs the model: %v", err)
	}
}
