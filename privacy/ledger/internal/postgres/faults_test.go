package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sotto-dp/sotto/internal/sys/pgtest"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/postgres"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
)

const records = ledger.Fingerprint("hmac-sha256:1111111111111111111111111111111111111111111111111111111111111111")

func open(t *testing.T, address string, trace func(when, statement string)) *ledger.Ledger {
	t.Helper()
	s, err := postgres.Open(t.Context(), address, postgres.Options{Create: true, Trace: trace})
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.New(t.Context(), s, ledger.Options{Create: true, Meter: ledgertest.Count})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func initialize(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	_, err := l.Init(t.Context(), ledger.InitRequest{Dataset: records, Budget: ledger.Budget{Epsilon: 1e6}})
	if err != nil {
		t.Fatal(err)
	}
}

func reserve(ctx context.Context, l *ledger.Ledger, key string) error {
	_, err := l.Reserve(ctx, ledger.ReserveRequest{
		Dataset: string(records), Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: privacy.Pure{Epsilon: 1}, Proof: ledger.Proven, Run: "r", Key: key,
	})
	return err
}

// charged returns how many charges there are, and checks the ledger.
func charged(t *testing.T, l *ledger.Ledger) int {
	t.Helper()
	r, err := l.Check(t.Context(), ledger.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if spent := int(r.Datasets[0].Budgets[0].Spent); spent != r.Charges {
		t.Errorf("%d charges of 1 cost %d", r.Charges, spent)
	}
	return r.Charges
}

// TestLostConnection cuts the connection before and after every message of a
// reservation.
func TestLostConnection(t *testing.T) {
	address := pgtest.Schema(t)
	direct := open(t, address, nil)
	initialize(t, direct)
	p := newProxy(t, address)
	l := open(t, p.through(address), nil)
	if err := reserve(t.Context(), l, "warm"); err != nil {
		t.Fatal(err)
	}
	want, unknown, cuts := 1, 0, 0
	for _, late := range []bool{false, true} {
		for _, down := range []bool{false, true} {
			for n := 1; ; n++ {
				key := fmt.Sprintf("%v %v %d", late, down, n)
				p.arm(n, late, down)
				err := reserve(t.Context(), l, key)
				if !p.done() {
					if err != nil {
						t.Errorf("%s: without a cut: %v", key, err)
					}
					want++
					break // it has fewer messages
				}
				cuts++
				got := charged(t, direct)
				switch {
				case err == nil && got != want+1:
					t.Errorf("%s: acknowledged, but there are %d charges, want %d", key, got, want+1)
				case err != nil && !down:
					t.Errorf("%s: the server was there again: %v", key, err)
				case errors.Is(err, ledger.ErrUnknown):
					unknown++
					if got != want && got != want+1 {
						t.Errorf("%s: %d charges, want %d or one more", key, got, want)
					}
				case err != nil && got != want:
					t.Errorf("%s: failed with %v, but there are %d charges, want %d", key, err, got, want)
				}
				// Asking again settles it, and never charges twice.
				if err := reserve(t.Context(), l, key); err != nil {
					t.Errorf("%s: again: %v", key, err)
				}
				if want++; charged(t, direct) != want {
					t.Errorf("%s: asked again, there are %d charges, want %d", key, charged(t, direct), want)
				}
			}
		}
	}
	if unknown == 0 || cuts < 20 {
		t.Errorf("%d cuts, %d of them with an unknown outcome: too few to have hit the commit", cuts, unknown)
	}
	t.Logf("%d cuts, the outcome of %d unknown until asked again", cuts, unknown)
}

// TestTerminatedSession ends the session on the server before and after every
// statement.
func TestTerminatedSession(t *testing.T) {
	address := pgtest.Schema(t)
	direct := open(t, address, nil)
	initialize(t, direct)
	admin, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	at, seen := 0, 0
	l := open(t, with(t, address, "application_name", "victim"), func(when, statement string) {
		if seen++; seen == at {
			_, err := admin.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'")
			if err != nil {
				t.Error(err)
			}
		}
	})
	points := 0
	for at = 1; ; at++ {
		seen = 0
		key := fmt.Sprint("point ", at)
		if err := reserve(t.Context(), l, key); err != nil {
			t.Errorf("session ended at point %d: %v", at, err)
		}
		if got := charged(t, direct); got != at {
			t.Errorf("session ended at point %d: %d charges, want %d", at, got, at)
		}
		if seen < at {
			break
		}
		points++
	}
	if points < 10 {
		t.Errorf("the session was ended at %d points only", points)
	}
}

func with(t *testing.T, address, key, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// TestSettings: the ledger does not rely on the defaults of a server or role.
func TestSettings(t *testing.T) {
	address := pgtest.Schema(t)
	weak := with(t, address, "synchronous_commit", "off")
	weak = with(t, weak, "default_transaction_isolation", "serializable")
	weak = with(t, weak, "default_transaction_read_only", "on")
	l := open(t, with(t, weak, "application_name", "weak"), nil)
	initialize(t, l)
	if err := reserve(t.Context(), l, "a"); err != nil {
		t.Error(err)
	}
	if got := charged(t, l); got != 1 {
		t.Errorf("%d charges", got)
	}
}

func TestRowsCannotBeChangedByMistake(t *testing.T) {
	address := pgtest.Schema(t)
	l := open(t, address, nil)
	initialize(t, l)
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, statement := range []string{"UPDATE sotto_ledger_row SET body = ''", "DELETE FROM sotto_ledger_row", "TRUNCATE sotto_ledger_row"} {
		if _, err := c.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	charged(t, l)
}
