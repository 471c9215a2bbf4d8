package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/sqlite"
)

// options that every back-end has.
type options = sqlite.Options

// backend describes a back-end to the suite.
type backend struct {
	// New returns the address of a place without a ledger.
	New func(t testing.TB) string
	// Open opens the log at an address, also one made by another process.
	Open func(ctx context.Context, address string, opt options) (chain.Store, error)
	// SQL runs a statement on the database, past the ledger. Nil for a back-end
	// that is no database and lives in one process: the tests of other processes
	// and of tampering are left out then.
	SQL func(t testing.TB, address, statement string, args ...any)
	// Unlock are statements that remove the triggers against slips.
	Unlock []string
}

// conforms runs the tests of what a back-end does for one at a time. Most of their time they wait
// for a disk, so they run beside each other.
func conforms(t *testing.T, b backend) {
	t.Parallel()
	run := func(name string, test func(*testing.T, backend)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
	run("ledger", testLedger)
	run("identity", testIdentity)
	run("coverage", testCoverage)
	run("model", testModel)
	if b.SQL != nil {
		run("tamper", testTamper)
		run("crash", testCrash)
	}
}

// conformsAtOnce runs the tests of what a back-end does for many at once. They are short
// enough for the race detector.
func conformsAtOnce(t *testing.T, b backend) {
	t.Run("store", func(t *testing.T) { testStore(t, b) })
	t.Run("copies that are first used at once are one data set", func(t *testing.T) {
		atOnce(newFixture(t, b, ledger.Budget{Epsilon: 10}))
	})
	if b.SQL != nil {
		t.Run("linearizable", func(t *testing.T) { testLinearizable(t, b) })
	}
}

// knob reads a variable that scales a test.
func knob(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// clock is a clock that tests set. The zero clock stands at 2030-01-01.
type clock struct{ offset atomic.Int64 }

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// Now returns the time.
func (c *clock) Now() time.Time { return epoch.Add(time.Duration(c.offset.Load())) }

// Set sets the clock to a time after (or, negative, before) 2030-01-01.
func (c *clock) Set(offset time.Duration) { c.offset.Store(int64(offset)) }

// units is n runs of pure(1).
func units(n int64) privacy.Event {
	return privacy.Repeat{N: n, Event: privacy.Pure{Epsilon: 1}}
}

// print makes a fingerprint for tests, of a number.
func fingerprint(n int) ledger.Fingerprint {
	return ledger.Fingerprint(fmt.Sprintf("hmac-sha256:%064x", n))
}

// fixture is a ledger for one test.
type fixture struct {
	testing.TB
	ctx     context.Context
	backend backend
	address string
	clock   clock
	*ledger.Ledger
}

// newFixture makes a ledger with data set 1, called "records".
func newFixture(t testing.TB, b backend, budget ledger.Budget) *fixture {
	t.Helper()
	f := &fixture{TB: t, ctx: t.Context(), backend: b, address: b.New(t)}
	f.Ledger = f.handle(true)
	_, err := f.Init(f.ctx, ledger.InitRequest{Dataset: fingerprint(1), Name: "records", Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// handle opens the ledger once more.
func (f *fixture) handle(create bool) *ledger.Ledger {
	f.Helper()
	l, err := openLedger(f.ctx, f.backend, f.address, options{Create: create}, &f.clock)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := l.Close(); err != nil {
			f.Errorf("closing: %v", err)
		}
	})
	return l
}

func openLedger(ctx context.Context, b backend, address string, opt options, clock *clock) (*ledger.Ledger, error) {
	store, err := b.Open(ctx, address, opt)
	if err != nil {
		return nil, err
	}
	options := ledger.Options{Create: opt.Create, Meter: Count}
	if clock != nil {
		options.Clock = clock.Now
	}
	l, err := ledger.New(ctx, store, options)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return l, nil
}

// request returns a reservation of n units by a run named like its key.
func request(key string, n int64) ledger.ReserveRequest {
	return ledger.ReserveRequest{Dataset: "records", Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: units(n), Proof: ledger.Proven, Run: "run " + key, Key: key}
}

func (f *fixture) reserve(key string, n int64) ledger.Charge {
	f.Helper()
	c, err := f.Reserve(f.ctx, request(key, n))
	if err != nil {
		f.Fatalf("reserving %d for %s: %v", n, key, err)
	}
	return c
}

// spent checks what is spent of the global budget, and that the whole ledger is
// in order.
func (f *fixture) spent(want float64) {
	f.Helper()
	d, err := f.Balance(f.ctx, "records")
	if err != nil {
		f.Fatal(err)
	}
	if got := float64(d.Budgets[0].Spent); got != want {
		f.Errorf("spent %v, want %v", got, want)
	}
	if _, err := f.Check(f.ctx, ledger.CheckOptions{}); err != nil {
		f.Errorf("check: %v", err)
	}
}

// wants checks that an error is of a type, and returns it as that.
func wants[E error](t testing.TB, err error) E {
	t.Helper()
	var e E
	if !errors.As(err, &e) {
		t.Fatalf("error is %v (%T), want a %T", err, err, e)
	}
	return e
}
