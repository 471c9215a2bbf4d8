package answer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/sys/machine"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/ledgertest"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// TestNeverMoreThanTheBudget: whatever is asked in whatever order, with models that fail
// and grants in between, the charges stay within the budget, and a refusal is right.
func TestNeverMoreThanTheBudget(t *testing.T) {
	all := newPlace(t)
	all.open(t)
	ledgertest.Checks(t, 24)
	refusals, backs := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		p := all.fresh(t)
		b := ledger.Budget{Epsilon: float64(rapid.IntRange(0, 40).Draw(rt, "limit")), Delta: 1e-3}
		b.Composition = rapid.SampledFrom([]ledger.Composition{ledger.Sums, ledger.Adaptive, ledger.Adaptive}).Draw(rt, "composition")
		p.budget(t, b)
		broken := errors.New("broken")
		failing, left := false, 0
		m := newToy()
		m.ends = 1
		m.fail = func() error {
			if left--; failing && left < 0 {
				return broken
			}
			return nil
		}
		var sessions []*Session
		for _, method := range []decode.Method{clipped(), gaussian()} {
			o := p.options(t, planFor(method), m)
			o.Parallel = rapid.IntRange(1, 3).Draw(rt, "parallel")
			o.Partial = rapid.Bool().Draw(rt, "partial")
			sessions = append(sessions, p.session(t, o))
		}
		spent := func() ledger.Balance {
			d, err := p.ledger.Balance(context.Background(), "chats")
			must(t, err)
			return d.Budgets[0]
		}
		judge := func(rt *rapid.T, before ledger.Balance, err error) {
			var refused *ledger.RefusedError
			switch {
			case errors.As(err, &refused):
				refusals++
				if float64(refused.Needed) <= refused.Limit {
					rt.Errorf("refused what fits: %v", err)
				}
			case err != nil && !errors.Is(err, broken):
				rt.Error(err)
			}
			after := spent()
			if after.Spent > ledger.Epsilon(after.Epsilon) || after.Spent < before.Spent {
				rt.Errorf("spent %v of %v, before it was %v", after.Spent, after.Epsilon, before.Spent)
			}
			failing = false
		}
		rt.Repeat(map[string]func(*rapid.T){
			"answer": func(rt *rapid.T) {
				before := spent()
				a, err := rapid.SampledFrom(sessions).Draw(rt, "session").Answer(t.Context(), "who?", nil)
				if err == nil && (a.Spent > a.Limit || a.Spent < float64(before.Spent)) {
					rt.Errorf("the odometer says %+v", a)
				}
				judge(rt, before, err)
			},
			"all": func(rt *rapid.T) {
				before := spent()
				err := rapid.SampledFrom(sessions).Draw(rt, "session").All(t.Context(), inputs(rapid.IntRange(1, 5).Draw(rt, "n")), func(int, *Answer) error { return nil })
				judge(rt, before, err)
			},
			"fail": func(rt *rapid.T) {
				failing, left = true, rapid.IntRange(0, 20).Draw(rt, "after")
			},
			"grant": func(rt *rapid.T) {
				_, err := p.ledger.Grant(t.Context(), ledger.GrantRequest{Dataset: "chats", Epsilon: float64(rapid.IntRange(1, 9).Draw(rt, "more")), Reason: "test"})
				must(t, err)
			},
		})
		for _, c := range p.charges(t) {
			if c.Spent != "" {
				backs++
			}
			if c.State == ledger.Reserved && !c.Series {
				rt.Errorf("a charge was left: %+v", c)
			}
		}
	})
	if !testing.Short() && (refusals == 0 || backs == 0) { // short runs have few cases
		t.Errorf("%d refusals, %d charges handed back: nothing was tested", refusals, backs)
	}
}

// TestConcurrentSessions: many sessions on one budget answer exactly as many questions as it pays
// for.
func TestConcurrentSessions(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 23, Delta: 1e-3})
	var answered, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 4 {
		o := p.options(t, planFor(clipped()), newToy())
		o.Partial, o.Parallel = true, 1+i%2
		s := p.session(t, o)
		for range 2 { // calls of one session
			wg.Go(func() {
				err := s.All(t.Context(), inputs(5), func(_ int, a *Answer) error {
					answered.Add(1)
					if a.Spent > 23 {
						t.Errorf("%+v", a)
					}
					return nil
				})
				if errors.As(err, new(*ledger.RefusedError)) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() { _, _ = s.Answer(t.Context(), "", nil); _ = s.CheckBudget(t.Context(), 3); _ = s.Usage() })
	}
	wg.Wait()
	expect.Equal(t, "answered", answered.Load(), 23)
	expect.True(t, "refused other than 0", refused.Load() != 0, refused.Load())
	expect.Equal(t, "uses", p.uses(t), 23)
}

// TestOthersAreFaster: a budget that somebody else uses up on the way ends the questions,
// and what was answered stands.
func TestOthersAreFaster(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 6, Delta: 1e-3, Composition: ledger.Adaptive})
	o := p.options(t, planFor(clipped()), newToy())
	o.Parallel = 2
	other := p.session(t, o)
	s := p.session(t, o)
	n := 0
	err := s.All(t.Context(), inputs(6), func(i int, a *Answer) error {
		if n++; i == 2 {
			for range 2 {
				must(t, second(other.Answer(t.Context(), "who?", nil)))
			}
		}
		return nil
	})
	refused := expect.As[*ledger.RefusedError](t, err)
	expect.True(t, "no *ChargedError", !errors.As(err, new(*ChargedError)), err)
	expect.Equal(t, "n", n, 4)
	expect.Equal(t, "refused.Spent", refused.Spent, 6)
	for _, c := range p.charges(t) {
		if c.State != ledger.Committed {
			t.Errorf("%+v", c)
		}
	}
}

// TestConcurrentFirstUse: sessions that meet a data set nobody has entered yet give it one
// budget.
func TestConcurrentFirstUse(t *testing.T) {
	p := newPlace(t)
	of := planFor(clipped())
	of.Epsilon, of.Answers = 8, 8
	data := p.open(t)
	var wg sync.WaitGroup
	for range 8 {
		o := p.options(t, of, newToy())
		o.Data = data
		s := p.session(t, o)
		wg.Go(func() {
			if _, err := s.Answer(t.Context(), "who?", nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if p.uses(t) != 8 || len(p.charges(t)) != 1 {
		t.Errorf("%d uses of %d charges", p.uses(t), len(p.charges(t)))
	}
}

// sqliteLedger is one with the accountants that the program uses.
func sqliteLedger(t testing.TB) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{Create: true})
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

// TestPrices: the budget that new data gets is enough for what was asked, and little more.
func TestPrices(t *testing.T) {
	for _, m := range []decode.Method{clipped(), gaussian()} {
		p := newPlace(t)
		p.ledger = sqliteLedger(t)
		of := planFor(m)
		of.Delta, of.Tokens = 1e-6, 2
		o := p.options(t, of, newToy())
		o.Parallel = 5
		s := p.session(t, o)
		price, err := s.price(5)
		must(t, err)
		n := 0
		must(t, s.All(t.Context(), inputs(5), func(_ int, a *Answer) error {
			n++
			at := expect.At(t, "an answer of %d", 5)
			expect.Within(at, "a.Limit", a.Limit, price, price*1.002)
			expect.Within(at, "a.Spent", a.Spent, price*0.99, a.Limit)
			return nil
		}))
		if _, err := s.Answer(t.Context(), "who?", nil); n != 5 || !errors.As(err, new(*ledger.RefusedError)) {
			t.Errorf("%d answers, then %v", n, err)
		}
	}
}

// TestMany: the odometer only goes up, and what the ledger takes for an answer does not
// grow with how many there were. The time that is compared is taken by the same calls,
// early and late; the bound is wide, since machines have other things to do.
func TestMany(t *testing.T) {
	const n = 2000
	p := newPlace(t)
	p.ledger = ledgertest.New(t, ledger.Accountants)
	s, w := p.quick(t, ledger.Adaptive, 1)
	var last float64
	var quarter time.Duration
	for i := range n {
		if i == n/4 {
			quarter = w.spent
		}
		a, err := s.Answer(t.Context(), fmt.Sprint("question ", i), nil)
		must(t, err)
		at := expect.At(t, "answer %d", i+1)
		expect.Within(at, "a.Spent", a.Spent, last, a.Limit)
		expect.Len(at, "a.Warnings", a.Warnings, 0)
		last = a.Spent
	}
	if w.spent > 4*8*quarter {
		t.Errorf("the ledger took %v for all, and %v for the first quarter", w.spent, quarter)
	}
}

// quick is a session whose model has next to nothing to do, so that what is left is what
// an answer takes besides, and what the ledger has of that.
func (p *place) quick(t testing.TB, c ledger.Composition, parallel int) (*Session, *watch) {
	t.Helper()
	p.budget(t, ledger.Budget{Epsilon: 30, Delta: 1e-6, Composition: c})
	rare := *clipped().(*decode.Clipped)
	rare.Draw.Rate, rare.Range = 0.01, 0.3
	of := planFor(&rare)
	of.Tokens = 1
	o := p.options(t, of, newToy())
	o.Parallel = parallel
	w := &watch{Ledger: p.ledger}
	o.Env.Ledger = w
	s := &Session{options: o, drawKey: noise.NewKey, free: machine.Free}
	must(t, s.open(t.Context()))
	return s, w
}

// BenchmarkLedger measures what of an answer's time is the ledger's, on SQLite.
func BenchmarkLedger(b *testing.B) {
	for _, c := range []ledger.Composition{ledger.Sums, ledger.Adaptive} {
		for _, parallel := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/%d", c, parallel), func(b *testing.B) {
				p := newPlace(b)
				p.ledger = sqliteLedger(b)
				s, w := p.quick(b, c, parallel)
				b.ResetTimer()
				must(b, s.All(b.Context(), inputs(b.N), func(int, *Answer) error { return nil }))
				b.ReportMetric(float64(w.spent.Microseconds())/1000/float64(b.N), "ledger-ms/op")
			})
		}
	}
}

// watch measures what calls of a ledger take.
type watch struct {
	account.Ledger
	spent time.Duration
}

func (w *watch) Reserve(ctx context.Context, r ledger.ReserveRequest) (ledger.Charge, error) {
	defer w.since(time.Now())
	return w.Ledger.Reserve(ctx, r)
}

func (w *watch) Draw(ctx context.Context, r ledger.ReserveRequest) (ledger.DrawResult, error) {
	defer w.since(time.Now())
	return w.Ledger.Draw(ctx, r)
}

func (w *watch) Commit(ctx context.Context, r ledger.CommitRequest) (ledger.Charge, error) {
	defer w.since(time.Now())
	return w.Ledger.Commit(ctx, r)
}

func (w *watch) Balance(ctx context.Context, name string) (ledger.Dataset, error) {
	defer w.since(time.Now())
	return w.Ledger.Balance(ctx, name)
}

func (w *watch) since(start time.Time) { w.spent += time.Since(start) }

// TestNothingPrivateInErrors: records that cannot be read, models that fail in the midst of
// them, and everything else that can be printed, say nothing of what is in them.
func TestNothingPrivateInErrors(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 99, Delta: 1e-3})
	m := newToy()
	var said strings.Builder
	o := p.options(t, planFor(clipped()), m)
	o.Env.Observe = func(e env.Progress) { fmt.Fprintf(&said, "%+v\n", e) }
	s := p.session(t, o)
	for after := range 8 {
		left := after
		m.fail = func() error {
			if left--; left < 0 {
				return errors.New("broken")
			}
			return nil
		}
		a, err := s.Answer(t.Context(), "who?", func(soFar string) { said.WriteString(soFar) })
		fmt.Fprintf(&said, "%+v %v\n", a, err)
	}
	fmt.Fprintf(&said, "%+v", p.charges(t))
	if strings.Contains(said.String(), marker) {
		t.Error("content of records was reported")
	}
}
