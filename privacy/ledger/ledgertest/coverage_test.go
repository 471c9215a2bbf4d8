package ledgertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// testCoverage checks that a series pays for the uses that it was reserved for, and for no
// others, no matter who asks: a request to draw, one that is repeated, or a row of the log.
func testCoverage(t *testing.T, b backend) {
	for _, v := range variants(january) {
		t.Run("drawn from "+v.String(), func(t *testing.T) { drawnAs(t, b, v) })
	}
	t.Run("a budget that begins later", func(t *testing.T) { newBudgetLater(t, b) })
	t.Run("rows", func(t *testing.T) { forgedDraws(t, b) })
}

const (
	january  = 0
	february = 31 * 24 * time.Hour
	march    = 59 * 24 * time.Hour
)

// variant is what a use is for, apart from its event and data set, and when it is made.
type variant struct {
	adjacency privacy.Adjacency
	unit      privacy.Unit
	team      string
	month     time.Duration
}

func (v variant) String() string {
	return fmt.Sprintf("%s %s team %q after %v", v.adjacency, v.unit, v.team, v.month)
}

func (v variant) request(key string) ledger.ReserveRequest {
	r := request(key, 1)
	r.Adjacency, r.Unit = v.adjacency, v.unit
	if v.team != "" {
		r.Labels = map[string]string{"team": v.team}
	}
	return r
}

// variants are all uses in some months.
func variants(months ...time.Duration) (all []variant) {
	for _, month := range months {
		for _, adjacency := range []privacy.Adjacency{privacy.AddRemove, privacy.ReplaceOne} {
			for _, unit := range []privacy.Unit{privacy.Record, "user:author"} {
				for _, team := range []string{"", "a", "b"} {
					all = append(all, variant{adjacency, unit, team, month})
				}
			}
		}
	}
	return all
}

// inSeries makes a ledger with budgets for January and February and a series of uses.
func inSeries(t *testing.T, b backend, v variant) (*fixture, ledger.Charge) {
	t.Helper()
	f := newFixture(t, b, ledger.Budget{Epsilon: 100, Adjacency: v.adjacency, Unit: v.unit})
	for _, budget := range []ledger.Budget{
		{Name: "january", Epsilon: 50, From: epoch, Until: epoch.Add(february)},
		{Name: "february", Epsilon: 50, From: epoch.Add(february), Until: epoch.Add(march)},
	} {
		if _, err := f.AddBudget(f.ctx, ledger.BudgetRequest{Dataset: "records", Budget: budget}); err != nil {
			t.Fatal(err)
		}
	}
	f.clock.Set(v.month)
	r := v.request("series")
	r.Event, r.Series = units(40), true
	c, err := f.Reserve(f.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return f, c
}

// head is where the ledger ends.
func (f *fixture) head() ledger.Checkpoint {
	f.Helper()
	c, err := f.Checkpoint(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	return c
}

// drawnAs draws from a series for every adjacency, unit and scope, before and after the
// window of its budget has closed.
func drawnAs(t *testing.T, b backend, opened variant) {
	f, c := inSeries(t, b, opened)
	if c.Adjacency != opened.adjacency || c.Unit != opened.unit {
		t.Errorf("the charge says that it is for %s and %s", c.Adjacency, c.Unit)
	}
	for _, v := range variants(january, february, march) {
		f.clock.Set(v.month)
		before := f.head()
		left, countErr := f.InSeries(f.ctx, v.request(""))
		_, err := f.Draw(f.ctx, v.request(v.String()))
		if v == opened {
			if err != nil {
				t.Errorf("drawn as reserved: %v", err)
			}
			if left != 40 || countErr != nil {
				t.Errorf("as reserved: %d left, want 40 (%v)", left, countErr)
			}
			continue
		}
		if err == nil {
			t.Errorf("drawn for %s", v)
		}
		if left != 0 {
			t.Errorf("for %s %d are left, want 0", v, left)
		}
		if f.head() != before {
			t.Errorf("for %s a row was written", v)
		}
		switch {
		case v.adjacency != opened.adjacency || v.unit != opened.unit:
			wants[*ledger.MismatchError](t, err)
		case v.month == march:
			wants[*ledger.RefusedError](t, err)
		default:
			wants[*ledger.NoSeriesError](t, err)
		}
	}
	// A key stands for one use: it is found again at any time, and by no other use.
	for _, v := range variants(january, february) {
		before := f.head()
		as := v
		as.month = opened.month
		d, err := f.Draw(f.ctx, v.request(opened.String()))
		if as == opened {
			if err != nil {
				t.Errorf("repeated: %v", err)
			}
			if !d.Existed || d.Charge.ID != c.ID {
				t.Errorf("repeated: %+v, want the use that was drawn", d)
			}
		} else {
			wants[*ledger.KeyError](t, err)
		}
		r := v.request("series")
		r.Event, r.Series = units(40), true
		if again, err := f.Reserve(f.ctx, r); as == opened {
			if err != nil {
				t.Errorf("reserved again: %v", err)
			}
			if !again.Existed || again.ID != c.ID {
				t.Errorf("reserved again: %+v, want the first charge", again)
			}
		} else {
			wants[*ledger.KeyError](t, err)
		}
		if f.head() != before {
			t.Errorf("repeated as %s: a row was written", v)
		}
	}
}

// newBudgetLater: a budget that begins after a series was reserved does not count it, so that
// the series pays for nothing any more that the budget is for.
func newBudgetLater(t *testing.T, b backend) {
	v := variant{privacy.AddRemove, privacy.Record, "a", january}
	f, _ := inSeries(t, b, v)
	f.clock.Set(2 * time.Hour)
	if _, err := f.Draw(f.ctx, v.request("before")); err != nil {
		t.Fatal(err)
	}
	team := ledger.Budget{Name: "team a", Epsilon: 1, Scope: map[string]string{"team": "a"}, From: epoch.Add(time.Hour)}
	if _, err := f.AddBudget(f.ctx, ledger.BudgetRequest{Dataset: "records", Budget: team}); err != nil {
		t.Fatal(err)
	}
	wants[*ledger.NoSeriesError](t, second(f.Draw(f.ctx, v.request("after"))))
}

// drawRow is a row that draws a use from a series.
func drawRow(c ledger.Charge, rest string) chain.Entry {
	body := fmt.Sprintf(`{"charge":%q,"event":"pure(1)",%s"run":"r","key":"forged"}`, string(c.ID), rest)
	return chain.Entry{Kind: "draw", Subject: string(fingerprint(1)), Body: body, At: epoch.UnixMicro()}
}

// forgedDraws appends well-sealed rows that draw from a series what it was not reserved for.
func forgedDraws(t *testing.T, b backend) {
	right := `"adjacency":"add-remove","unit":"user:author","labels":{"team":"a"},`
	rows := map[string]struct {
		rest  string
		month time.Duration
	}{
		"as reserved":            {right, january},
		"another adjacency":      {strings.Replace(right, "add-remove", "replace-one", 1), january},
		"another unit":           {strings.Replace(right, "user:author", "record", 1), january},
		"another scope":          {strings.Replace(right, `"a"`, `"b"`, 1), january},
		"no scope":               {strings.Replace(right, `"labels":{"team":"a"},`, "", 1), january},
		"nothing":                {"", january},
		"no unit":                {strings.Replace(right, `"unit":"user:author",`, "", 1), january},
		"no adjacency":           {strings.Replace(right, `"adjacency":"add-remove",`, "", 1), january},
		"when the window closed": {right, february},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			f, c := inSeries(t, b, variant{privacy.AddRemove, "user:author", "a", january})
			e := drawRow(c, row.rest)
			e.At += row.month.Microseconds()
			f.forge(t, e)
			_, err := f.Check(f.ctx, ledger.CheckOptions{})
			if name == "as reserved" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wants[*ledger.TamperedError](t, err)
		})
	}
}
