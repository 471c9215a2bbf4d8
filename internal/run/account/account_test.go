package account_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
)

const fingerprint = ledger.Fingerprint("hmac-sha256:0123456789012345678901234567890123456789012345678901234567890123")

// counting is a ledger whose meter counts pure(1), and an account on it.
func counting(t *testing.T, name string) (*ledger.Ledger, *account.Account) {
	t.Helper()
	l := ledgertest.New(t, ledgertest.Count)
	return l, &account.Account{Ledger: l, Dataset: fingerprint, Name: name, Adjacency: privacy.AddRemove, Unit: privacy.Record}
}

func use(key string, n int64) account.Use {
	return account.Use{Event: privacy.Repeat{N: n, Event: privacy.Pure{Epsilon: 1}}, Run: "run " + key, Key: key}
}

// TestRefusalsSayWhatToDo: the sentence has the numbers and the command that makes room.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for name, want := range map[string]string{
		"patients": `sotto ledger grant "patients" --epsilon 2 --reason`,
		"":         "sotto ledger grant " + string(fingerprint) + " --epsilon 2 --reason",
	} {
		t.Run(name, func(t *testing.T) {
			_, p := counting(t, name)
			if _, err := p.Reserve(t.Context(), use("a", 1)); !errors.As(err, new(*ledger.UnknownDatasetError)) {
				t.Fatalf("before it is entered: %v", err)
			}
			notice, err := p.Enter(t.Context(), account.First{Epsilon: 4, Delta: 1e-6, By: "test", Key: "enter"})
			if err != nil || !strings.Contains(notice, "ε = 4 at δ = 1e-06") {
				t.Fatalf("%q, %v", notice, err)
			}
			if _, err := p.Reserve(t.Context(), use("a", 3)); err != nil {
				t.Fatal(err)
			}
			p.Name = "another"
			_, err = p.Reserve(t.Context(), use("b", 3))
			var refused *ledger.RefusedError
			if !errors.As(err, &refused) || refused.Needed != 6 {
				t.Fatal(err)
			}
			for _, part := range []string{want, "ε = 1 and δ = 1e-06 are left", "would be ε = 6"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
		})
	}
}

// TestScopedRefusals name the budget to raise.
func TestScopedRefusals(t *testing.T) {
	l, p := counting(t, "patients")
	if _, err := p.Enter(t.Context(), account.First{Epsilon: 9, By: "test", Key: "enter"}); err != nil {
		t.Fatal(err)
	}
	_, err := l.AddBudget(t.Context(), ledger.BudgetRequest{Dataset: "patients", Budget: ledger.Budget{Name: "risk", Epsilon: 1, Scope: map[string]string{"team": "risk"}}})
	if err != nil {
		t.Fatal(err)
	}
	p.Labels = map[string]string{"team": "risk"}
	if _, err := p.Reserve(t.Context(), use("a", 2)); err == nil || !strings.Contains(err.Error(), `grant "patients" --budget "risk" --epsilon 1 `) {
		t.Error(err)
	}
	p.Labels = nil
	if _, err := p.Reserve(t.Context(), use("a", 2)); err != nil {
		t.Error(err)
	}
}

// TestOtherKinds: neighbours of another kind, and a name that is taken.
func TestOtherKinds(t *testing.T) {
	_, p := counting(t, "patients")
	if _, err := p.Enter(t.Context(), account.First{Epsilon: 4, By: "test", Key: "enter"}); err != nil {
		t.Fatal(err)
	}
	other := *p
	other.Unit = "user:id"
	if _, err := other.Reserve(t.Context(), use("a", 1)); !errors.As(err, new(*ledger.MismatchError)) || !strings.Contains(err.Error(), "--unit") {
		t.Error(err)
	}
	other = *p
	other.Dataset = ledger.Fingerprint(strings.Replace(string(fingerprint), "0123", "3210", 1))
	if _, err := other.Enter(t.Context(), account.First{Epsilon: 4, By: "test", Key: "again"}); !errors.As(err, new(*ledger.ExistsError)) || !strings.Contains(err.Error(), "another name") {
		t.Error(err)
	}
}

// TestBothAreMissing: where δ is used up, the command that makes room names δ too, and the
// charge fits after it.
func TestBothAreMissing(t *testing.T) {
	l := ledgertest.New(t, nil)
	p := &account.Account{Ledger: l, Dataset: fingerprint, Name: "patients", Adjacency: privacy.AddRemove, Unit: privacy.Record}
	run := privacy.Gaussian{Sigma: 4}
	cost, err := accountant.Auto{}.Epsilon(run, privacy.AddRemove, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Enter(t.Context(), account.First{Epsilon: cost.Upper, Delta: 1e-6, By: "test", Key: "enter"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Reserve(t.Context(), account.Use{Event: run, Run: "a", Key: "a"}); err != nil {
		t.Fatalf("a run does not fit a budget of its own ε and δ: %v", err)
	}
	_, err = p.Reserve(t.Context(), account.Use{Event: run, Run: "b", Key: "b"})
	if err == nil {
		t.Fatal("a second run fits the budget of one")
	}
	var epsilon, delta float64
	_, command, _ := strings.Cut(err.Error(), "sotto ledger grant ")
	if n, scanning := fmt.Sscanf(command, `"patients" --epsilon %g --delta %g --reason`, &epsilon, &delta); n != 2 {
		t.Fatalf("%v: %v", scanning, err)
	}
	if _, err := l.Grant(t.Context(), ledger.GrantRequest{Dataset: "patients", Epsilon: epsilon, Delta: delta, Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Reserve(t.Context(), account.Use{Event: run, Run: "b", Key: "b"}); err != nil {
		t.Errorf("after a grant of ε = %v and δ = %v: %v", epsilon, delta, err)
	}
}

// TestAdaptive: one sums budget among those that count keeps everything.
func TestAdaptive(t *testing.T) {
	l, p := counting(t, "patients")
	init := ledger.Budget{Epsilon: 4, Delta: 1e-6, Composition: ledger.Adaptive}
	if _, err := l.Init(t.Context(), ledger.InitRequest{Dataset: fingerprint, Name: "patients", Budget: init}); err != nil {
		t.Fatal(err)
	}
	_, err := l.AddBudget(t.Context(), ledger.BudgetRequest{Dataset: "patients", Budget: ledger.Budget{Name: "risk", Epsilon: 1, Composition: ledger.Sums, Scope: map[string]string{"team": "risk"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		budgets []string
		want    bool
	}{{nil, false}, {[]string{"global"}, true}, {[]string{"global", "risk"}, false}} {
		if got, err := p.Adaptive(t.Context(), c.budgets); got != c.want || err != nil {
			t.Errorf("%v: %v, %v", c.budgets, got, err)
		}
	}
}

// TestAmountsAreShort: the command that makes room can be typed, and makes room.
func TestAmountsAreShort(t *testing.T) {
	for epsilon, want := range map[float64]string{4.8825: "--epsilon 0.118 ", 4.9899: "--epsilon 0.0102 ", 4.5: "--epsilon 0.5 ", 1e-9: "--epsilon 5 "} {
		l, p := counting(t, "patients")
		if _, err := p.Enter(t.Context(), account.First{Epsilon: epsilon, By: "test", Key: "enter"}); err != nil {
			t.Fatal(err)
		}
		_, err := p.Reserve(t.Context(), use("a", 5))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v is missing %q: %v", 5-epsilon, want, err)
		}
		amount, parsing := strconv.ParseFloat(strings.TrimSpace(strings.TrimPrefix(want, "--epsilon")), 64)
		if parsing != nil {
			t.Fatal(parsing)
		}
		if _, err := l.Grant(t.Context(), ledger.GrantRequest{Dataset: "patients", Epsilon: amount, Reason: "test"}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Reserve(t.Context(), use("a", 5)); err != nil {
			t.Errorf("after a grant of %v: %v", amount, err)
		}
	}
}
