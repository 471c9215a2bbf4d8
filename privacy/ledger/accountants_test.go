package ledger_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
)

var step = privacy.Poisson{Q: 0.01, Event: privacy.Gaussian{Sigma: 1}}

// realLedger returns a ledger in memory with the real accountants and one data set.
func realLedger(t testing.TB, budget ledger.Budget) *ledger.Ledger {
	t.Helper()
	l := ledgertest.New(t, nil)
	_, err := l.Init(t.Context(), ledger.InitRequest{Dataset: fingerprint, Name: "records", Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const fingerprint = ledger.Fingerprint("hmac-sha256:00000000000000000000000000000000000000000000000000000000000000ff")

func charge(key string, e privacy.Event) ledger.ReserveRequest {
	return ledger.ReserveRequest{Dataset: "records", Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: e, Proof: ledger.Proven, Run: key, Key: key}
}

// fill reserves a run again and again until it is refused, and returns how often
// it was not.
func fill(t *testing.T, l *ledger.Ledger, name string, e privacy.Event) (int, *ledger.RefusedError) {
	t.Helper()
	for n := 0; ; n++ {
		_, err := l.Reserve(t.Context(), charge(fmt.Sprint(name, n), e))
		if refused, ok := err.(*ledger.RefusedError); ok {
			return n, refused
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestApproxIsBooked: an (ε,δ) event uses up its δ of a budget, all of it if need be, and
// no more; a filter takes none.
func TestApproxIsBooked(t *testing.T) {
	discovery := privacy.Approx{Epsilon: 0.5, Delta: 1e-6}
	exact := realLedger(t, ledger.Budget{Epsilon: 0.5, Delta: 1e-6})
	if _, err := exact.Reserve(t.Context(), charge("all of it", discovery)); err != nil {
		t.Errorf("a budget of just what the event claims: %v", err)
	}
	l := realLedger(t, ledger.Budget{Epsilon: 4, Delta: 2.5e-6})
	n, refused := fill(t, l, "discovery", discovery)
	expect.Equal(t, "n", n, 2)
	expect.Min(t, "refused.NeededDelta", refused.NeededDelta, 3e-6)
	expect.Max(t, "refused.Needed", refused.Needed, 4)
	if b := balance(t, l); b.Spent > 1 || b.SpentDelta > 2.002e-6 {
		t.Errorf("2 discoveries of (0.5, 1e-6) cost ε = %v and δ = %v", b.Spent, b.SpentDelta)
	}
	if _, err := l.Reserve(t.Context(), charge("run", privacy.Repeat{N: 400, Event: step})); err != nil {
		t.Errorf("the ε that is left: %v", err)
	}
	if _, err := l.Check(t.Context(), ledger.CheckOptions{}); err != nil {
		t.Error(err)
	}
	filter := realLedger(t, ledger.Budget{Epsilon: 4, Delta: 2.5e-6, Composition: ledger.Adaptive})
	_, err := filter.Reserve(t.Context(), charge("discovery", discovery))
	var unsupported *accountant.UnsupportedError
	if !errors.As(err, &unsupported) || unsupported.Node != "approx" {
		t.Errorf("an adaptive budget: %v", err)
	}
	if n, _ := fill(t, filter, "run", privacy.Repeat{N: 400, Event: step}); n == 0 {
		t.Error("after an event that it cannot measure, an adaptive budget takes no others")
	}
}

// TestAdaptiveIsAFilter: an adaptive budget admits exactly what the privacy
// filter does, also after something was handed back.
func TestAdaptiveIsAFilter(t *testing.T) {
	const epsilon, delta = 2, 1e-6
	run := privacy.Repeat{N: 50, Event: step}
	l := realLedger(t, ledger.Budget{Epsilon: epsilon, Delta: delta, Composition: ledger.Adaptive})
	first, err := l.Reserve(t.Context(), charge("first", run))
	if err != nil {
		t.Fatal(err)
	}
	used := privacy.Repeat{N: 10, Event: step}
	if _, err := l.Commit(t.Context(), ledger.CommitRequest{Charge: first.ID, Spent: used, Filtered: true}); err != nil {
		t.Fatal(err)
	}
	n, refused := fill(t, l, "run", run)

	f, err := accountant.NewRDPFilter(epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for err = f.Spend(used, privacy.AddRemove); err == nil; err = f.Spend(run, privacy.AddRemove) {
		want++
	}
	if want--; n != want || n == 0 {
		t.Errorf("%d runs were admitted, the filter admits %d", n, want)
	}
	if got := float64(refused.Spent); math.Abs(got-f.Epsilon()) > 1e-9 {
		t.Errorf("spent %v, the filter says %v", got, f.Epsilon())
	}
	if refused.Needed <= epsilon || refused.Needed > 2*epsilon {
		t.Errorf("%v is needed", refused.Needed)
	}
	grant := ledger.GrantRequest{Dataset: "records", Epsilon: 2 * (float64(refused.Needed) - epsilon), Reason: "enough"}
	if _, err := l.Grant(t.Context(), grant); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve(t.Context(), charge("last", run)); err != nil {
		t.Errorf("after a grant of twice what was missing: %v", err)
	}
	// Lowered below what is spent, the budget shows more spent than it has.
	d, err := l.Revoke(t.Context(), ledger.GrantRequest{Dataset: "records", Epsilon: 1.5, Reason: "less"})
	if err != nil {
		t.Fatal(err)
	}
	if b := d.Budgets[0]; float64(b.Spent) <= b.Epsilon || b.Left != 0 {
		t.Errorf("lowered to %v: %v spent, %v left", b.Epsilon, b.Spent, b.Left)
	}
	wantRefused(t, l, charge("more", step))
	if _, err := l.Check(t.Context(), ledger.CheckOptions{}); err != nil {
		t.Error(err)
	}
}

// balance of the global budget.
func balance(t testing.TB, l *ledger.Ledger) ledger.Balance {
	t.Helper()
	d, err := l.Balance(t.Context(), "records")
	if err != nil {
		t.Fatal(err)
	}
	return d.Budgets[0]
}

func wantRefused(t testing.TB, l *ledger.Ledger, r ledger.ReserveRequest) {
	t.Helper()
	if _, err := l.Reserve(t.Context(), r); err == nil {
		t.Errorf("%s was not refused", r.Event)
	} else if _, ok := err.(*ledger.RefusedError); !ok {
		t.Errorf("%s: %v", r.Event, err)
	}
}

// TestBudgetOfNothing: with ε = 0 only what touches nothing is admitted.
func TestBudgetOfNothing(t *testing.T) {
	for _, c := range []ledger.Composition{ledger.Sums, ledger.Adaptive} {
		l := realLedger(t, ledger.Budget{Delta: 1e-9, Composition: c})
		wantRefused(t, l, charge("a", privacy.Gaussian{Sigma: 10}))
		wantRefused(t, l, charge("b", privacy.Pure{Epsilon: 0.1}))
		if _, err := l.Reserve(t.Context(), charge("c", privacy.Poisson{Q: 0, Event: privacy.Gaussian{Sigma: 1}})); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// TestUnsupportedIsNotCharged: what the accountant has no theorem for is an
// error that names the node, and charges nothing.
func TestUnsupportedIsNotCharged(t *testing.T) {
	l := realLedger(t, ledger.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: privacy.AddRemove})
	r := charge("a", privacy.FixedSize{N: 100, M: 10, Event: privacy.Gaussian{Sigma: 1}})
	_, err := l.Reserve(t.Context(), r)
	if err == nil {
		t.Fatal("sampling of a fixed size was charged under add-remove")
	}
	d, err := l.Show(t.Context(), "records")
	if err != nil || len(d.Charges) != 0 {
		t.Errorf("%d charges, %v", len(d.Charges), err)
	}
}

// TestReadingsMatchAdmission: at every point of a random history all kinds of
// budget read at most their limit, and a charge is refused exactly when it would
// read more.
func TestReadingsMatchAdmission(t *testing.T) {
	events := []privacy.Event{
		privacy.Gaussian{Sigma: 6},
		privacy.Gaussian{Sigma: 8},
		privacy.Pure{Epsilon: 0.1},
		privacy.Repeat{N: 20, Event: privacy.Poisson{Q: 0.005, Event: privacy.Gaussian{Sigma: 1}}},
	}
	ledgertest.Checks(t, 25)
	rapid.Check(t, func(rt *rapid.T) {
		c := rapid.SampledFrom([]ledger.Composition{ledger.Sums, ledger.Adaptive}).Draw(rt, "composition")
		l := realLedger(t, ledger.Budget{Epsilon: 1, Delta: 1e-6, Composition: c})
		for i := range rapid.IntRange(1, 8).Draw(rt, "charges") {
			e := rapid.SampledFrom(events).Draw(rt, "event")
			_, err := l.Reserve(t.Context(), charge(fmt.Sprint(i), e))
			refused, ok := err.(*ledger.RefusedError)
			switch {
			case err != nil && !ok:
				rt.Fatal(err)
			case ok && refused.Needed <= 1 && refused.NeededDelta <= 1e-6:
				rt.Fatalf("refused with %v needed", refused.Needed)
			}
			if b := balance(t, l); b.Spent > 1 || b.SpentDelta > 1e-6 {
				rt.Fatalf("ε = %v and δ = %v spent of 1 and 1e-6", b.Spent, b.SpentDelta)
			}
		}
		if _, err := l.Check(t.Context(), ledger.CheckOptions{}); err != nil {
			rt.Fatal(err)
		}
	})
}
