package ledgertest

import (
	"fmt"
	"math"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

func scopes(f *fixture) {
	add := func(b ledger.Budget) {
		f.Helper()
		if _, err := f.AddBudget(f.ctx, ledger.BudgetRequest{Dataset: "records", Budget: b}); err != nil {
			f.Fatal(err)
		}
	}
	add(ledger.Budget{Name: "risk", Epsilon: 4, Scope: map[string]string{"team": "risk"}})
	add(ledger.Budget{Name: "risk eu", Epsilon: 2, Scope: map[string]string{"team": "risk", "region": "eu"}})
	reserve := func(key string, n int64, labels map[string]string) error {
		r := request(key, n)
		r.Labels = labels
		return second(f.Reserve(f.ctx, r))
	}
	eu, us := map[string]string{"team": "risk", "region": "eu"}, map[string]string{"team": "risk", "region": "us"}
	if e := wants[*ledger.RefusedError](f, reserve("a", 3, eu)); e.Budget != "risk eu" {
		f.Errorf("refused by %q", e.Budget)
	}
	f.spent(0) // nothing stayed in the budgets that it did fit
	if err := reserve("a", 3, us); err != nil {
		f.Error(err)
	}
	if e := wants[*ledger.RefusedError](f, reserve("b", 2, eu)); e.Budget != "risk" {
		f.Errorf("refused by %q", e.Budget)
	}
	if err := reserve("c", 7, map[string]string{"team": "fraud"}); err != nil {
		f.Error(err)
	}
	if e := wants[*ledger.RefusedError](f, reserve("d", 1, eu)); e.Budget != ledger.Global {
		f.Errorf("refused by %q", e.Budget)
	}
	d, err := f.Show(f.ctx, string(fingerprint(1)))
	if err != nil {
		f.Fatal(err)
	}
	for i, want := range []ledger.Epsilon{10, 3, 0} {
		if d.Budgets[i].Spent != want {
			f.Errorf("budget %s has %v spent, want %v", d.Budgets[i].Name, d.Budgets[i].Spent, want)
		}
	}
	if got := fmt.Sprint(d.Charges[0].Budgets); got != "[global risk]" {
		f.Errorf("the first charge counts toward %s", got)
	}
	wants[*ledger.ExistsError](f, second(f.AddBudget(f.ctx, ledger.BudgetRequest{Dataset: "records", Budget: ledger.Budget{Name: "risk", Epsilon: 9}})))
	wants[*ledger.ExistsError](f, second(f.AddBudget(f.ctx, ledger.BudgetRequest{Dataset: "records", Budget: ledger.Budget{Name: ledger.Global, Epsilon: 9}})))
}

func windows(f *fixture) {
	const day = 24 * time.Hour
	month := func(name string, from, until time.Duration) {
		f.Helper()
		b := ledger.Budget{Name: name, Epsilon: 2, From: epoch.Add(from), Until: epoch.Add(until)}
		if _, err := f.AddBudget(f.ctx, ledger.BudgetRequest{Dataset: "records", Budget: b}); err != nil {
			f.Fatal(err)
		}
	}
	month("january", 0, 31*day)
	month("february", 31*day, 59*day)
	f.clock.Set(31*day - time.Microsecond)
	f.reserve("a", 2)
	if e := wants[*ledger.RefusedError](f, second(f.Reserve(f.ctx, request("b", 1)))); e.Budget != "january" {
		f.Errorf("refused by %q", e.Budget)
	}
	f.clock.Set(31 * day)
	f.reserve("b", 1) // counts in february only

	f.clock.Set(5 * day) // back in january
	c := f.reserve("c", 1)
	if got := fmt.Sprint(c.Budgets); got != "[global february]" || c.Reserved.Before(epoch.Add(31*day)) {
		f.Errorf("with the clock set back the charge is dated %s and counts toward %s", c.Reserved, got)
	}
	f.clock.Set(59 * day)
	if e := wants[*ledger.RefusedError](f, second(f.Reserve(f.ctx, request("d", 1)))); !e.Closed {
		f.Errorf("refused with %+v while no window is open", e)
	}
	f.reserve("c", 1) // a retry is not a new charge
	// A refusal leaves no row, so the ledger has not seen that time yet; a grant
	// has.
	if _, err := f.Grant(f.ctx, ledger.GrantRequest{Dataset: "records", Budget: "february", Epsilon: 5, Reason: "late"}); err != nil {
		f.Fatal(err)
	}
	f.clock.Set(58 * day)
	if e := wants[*ledger.RefusedError](f, second(f.Reserve(f.ctx, request("d", 1)))); !e.Closed {
		f.Errorf("the clock was set back and a closed window opened: %+v", e)
	}
	f.spent(4)
}

func grants(f *fixture) {
	change := func(do func(ledger.GrantRequest) (ledger.Dataset, error), epsilon, delta, wantEpsilon, wantDelta float64) {
		f.Helper()
		d, err := do(ledger.GrantRequest{Dataset: "records", Epsilon: epsilon, Delta: delta, Reason: "because"})
		if err != nil {
			f.Fatal(err)
		}
		if b := d.Budgets[0]; b.Epsilon != wantEpsilon || b.Delta != wantDelta {
			f.Errorf("ε = %v, δ = %v, want %v and %v", b.Epsilon, b.Delta, wantEpsilon, wantDelta)
		}
	}
	grant := func(r ledger.GrantRequest) (ledger.Dataset, error) { return f.Grant(f.ctx, r) }
	revoke := func(r ledger.GrantRequest) (ledger.Dataset, error) { return f.Revoke(f.ctx, r) }
	change(grant, 0.2, 0, 0.3, 1e-6)
	change(grant, 3.7, 2e-6, 4, 3e-6)
	f.reserve("a", 3)
	change(revoke, 2, 1e-6, 2, 2e-6)
	e := wants[*ledger.RefusedError](f, second(f.Reserve(f.ctx, request("b", 1))))
	expect.Equal(f, "e.Left", e.Left(), 0)
	expect.Equal(f, "e.Spent", e.Spent, 3)
	expect.Equal(f, "e.Limit", e.Limit, 2)
	f.spent(3) // Check does not blame a budget that was lowered
	change(grant, 8, 0, 10, 2e-6)
	f.reserve("b", 7)
	for name, r := range map[string]ledger.GrantRequest{
		"no reason":     {Dataset: "records", Epsilon: 1},
		"no amount":     {Dataset: "records", Reason: "r"},
		"negative":      {Dataset: "records", Epsilon: -1, Reason: "r"},
		"not a number":  {Dataset: "records", Epsilon: math.NaN(), Reason: "r"},
		"infinite":      {Dataset: "records", Epsilon: math.Inf(1), Reason: "r"},
		"δ of 1":        {Dataset: "records", Delta: 1, Reason: "r"},
		"no such":       {Dataset: "records", Budget: "none", Epsilon: 1, Reason: "r"},
		"more than all": {Dataset: "records", Epsilon: 10.1, Reason: "r"},
	} {
		if _, err := f.Revoke(f.ctx, r); !isA[*ledger.InputError](err) {
			f.Errorf("a revocation with %s: %v", name, err)
		}
	}
	d, err := f.Show(f.ctx, "records")
	expect.NoError(f, err)
	expect.Len(f, "d.Changes", d.Changes, 5)
	expect.Equal(f, "d.Changes[3].Kind", d.Changes[3].Kind, "revoke")
	expect.Equal(f, "d.Changes[3].Reason", d.Changes[3].Reason, "because")
	f.spent(10)
}

func later(f *fixture) {
	r := request("a", 6)
	r.Labels = map[string]string{"team": "risk"}
	if _, err := f.Reserve(f.ctx, r); err != nil {
		f.Fatal(err)
	}
	d, err := f.AddBudget(f.ctx, ledger.BudgetRequest{Dataset: "records", Budget: ledger.Budget{Name: "risk", Epsilon: 5, Scope: map[string]string{"team": "risk"}}})
	expect.NoError(f, err)
	expect.Equal(f, "d.Budgets[1].Spent", d.Budgets[1].Spent, 6)
	expect.Equal(f, "d.Budgets[1].Left", d.Budgets[1].Left, 0)
	r.Key, r.Event = "b", units(1)
	if e := wants[*ledger.RefusedError](f, second(f.Reserve(f.ctx, r))); e.Budget != "risk" {
		f.Errorf("refused by %q", e.Budget)
	}
	f.spent(6) // Check does not blame the later budget
}
