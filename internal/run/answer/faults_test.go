package answer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/sys/machine"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// points are where a session touches the world: each can fail, or be its last.
type points struct {
	mu  sync.Mutex
	log []string
	at  func(n int, what string) error
}

func (p *points) reach(what string) error {
	p.mu.Lock()
	p.log = append(p.log, what)
	n := len(p.log)
	p.mu.Unlock()
	if p.at == nil {
		return nil
	}
	return p.at(n, what)
}

// ledgerProbe is a ledger that reaches a point before and after each call.
type ledgerProbe struct {
	account.Ledger
	points *points
}

func (b *ledgerProbe) Init(ctx context.Context, r ledger.InitRequest) (ledger.Dataset, error) {
	return tap(b.points, "init", func() (ledger.Dataset, error) { return b.Ledger.Init(ctx, r) })
}

func (b *ledgerProbe) Reserve(ctx context.Context, r ledger.ReserveRequest) (ledger.Charge, error) {
	return tap(b.points, "reserve", func() (ledger.Charge, error) { return b.Ledger.Reserve(ctx, r) })
}

func (b *ledgerProbe) Draw(ctx context.Context, r ledger.ReserveRequest) (ledger.DrawResult, error) {
	return tap(b.points, "draw", func() (ledger.DrawResult, error) { return b.Ledger.Draw(ctx, r) })
}

func (b *ledgerProbe) InSeries(ctx context.Context, r ledger.ReserveRequest) (int64, error) {
	return tap(b.points, "count", func() (int64, error) { return b.Ledger.InSeries(ctx, r) })
}

func (b *ledgerProbe) Commit(ctx context.Context, r ledger.CommitRequest) (ledger.Charge, error) {
	return tap(b.points, "commit", func() (ledger.Charge, error) { return b.Ledger.Commit(ctx, r) })
}

func (b *ledgerProbe) Forfeit(ctx context.Context, r ledger.ForfeitRequest) (ledger.Charge, error) {
	return tap(b.points, "forfeit", func() (ledger.Charge, error) { return b.Ledger.Forfeit(ctx, r) })
}

func (b *ledgerProbe) Balance(ctx context.Context, name string) (ledger.Dataset, error) {
	return tap(b.points, "balance", func() (ledger.Dataset, error) { return b.Ledger.Balance(ctx, name) })
}

func (b *ledgerProbe) CanReserve(ctx context.Context, r ledger.ReserveRequest, n int64) error {
	_, err := tap(b.points, "measure", func() (int, error) { return 0, b.Ledger.CanReserve(ctx, r, n) })
	return err
}

// tap makes a call between two points. An error of the second stands for a call whose
// answer was lost.
func tap[V any](p *points, what string, call func() (V, error)) (V, error) {
	var none V
	if err := p.reach("ask to " + what); err != nil {
		return none, err
	}
	v, err := call()
	if lost := p.reach("after " + what); lost != nil {
		return none, errors.Join(ledger.ErrUnknown, lost)
	}
	return v, err
}

// watched is a session whose every contact with the world is a point.
func (p *place) watched(t testing.TB, o Options, m *toy, w *points) *Session {
	t.Helper()
	o.Env.Ledger = &ledgerProbe{o.Env.Ledger, w}
	s := &Session{options: o, free: machine.Free}
	s.drawKey = func() (noise.Key, error) {
		if err := w.reach("draw a key"); err != nil {
			return noise.Key{}, err
		}
		return noise.NewKey()
	}
	s.price = func(n int64) (float64, error) { return float64(n), nil }
	m.fail = func() error { return w.reach("ask the model") }
	must(t, s.open(t.Context()))
	return s
}

// callResult is what one call of All did.
type callResult struct {
	points points
	got    []*Answer
	err    error
}

var errKilled = errors.New("killed")

// ask asks four questions, two at once, in a goroutine that a point may end, as kill -9
// would.
func (p *place) ask(t testing.TB, m decode.Method, at func(int, string) error) *callResult {
	t.Helper()
	a := &callResult{points: points{at: at}}
	of := planFor(m)
	of.Epsilon, of.Tokens = 4, 3
	model := newToy()
	o := p.options(t, of, model)
	o.Parallel = 2
	s := p.watched(t, o, model, &a.points)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.err = errKilled
		a.err = s.All(t.Context(), inputs(4), func(_ int, answer *Answer) error {
			a.got = append(a.got, answer)
			return nil
		})
	}()
	<-done
	return a
}

// paid: every answer has a charge of its own, or a part of a series, and no more was taken
// than questions were asked.
func (p *place) paid(t *testing.T, a *callResult) map[ledger.ChargeID]ledger.Charge {
	t.Helper()
	charges := map[ledger.ChargeID]ledger.Charge{}
	for _, c := range p.charges(t) {
		charges[c.ID] = c
	}
	seen := map[ledger.ChargeID]int64{}
	for _, answer := range a.got {
		c, ok := charges[answer.Charge]
		seen[c.ID]++
		at := expect.At(t, "the answer with charge %q is not paid for", answer.Charge)
		expect.True(at, "ok", ok)
		expect.Max(at, "seen[c.ID]", seen[c.ID], max(1, c.Drawn))
		expect.True(at, "c.State other than ledger.Forfeited", c.State != ledger.Forfeited, c.State)
	}
	if p.uses(t) > 4 {
		t.Errorf("%d uses for 4 questions", p.uses(t))
	}
	return charges
}

// TestFailingAtEveryPoint makes each thing that a session does fail: the ledger is gone,
// or does not answer what it did, the model is gone, or there is no randomness.
func TestFailingAtEveryPoint(t *testing.T) {
	all := newPlace(t)
	all.open(t)
	reference := all.fresh(t).ask(t, clipped(), nil)
	must(t, reference.err)
	log := reference.points.log
	if len(log) < 30 {
		t.Fatalf("only %d points", len(log))
	}
	broken := errors.New("broken")
	for point := 1; point <= len(log); point++ {
		for _, once := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d %s, once %v", point, log[point-1], once), func(t *testing.T) {
				p := all.fresh(t)
				a := p.ask(t, clipped(), func(n int, _ string) error {
					if n == point || n > point && !once {
						return broken
					}
					return nil
				})
				charges := p.paid(t, a)
				if a.err != nil && (!errors.Is(a.err, broken) || strings.Contains(a.err.Error(), marker)) {
					t.Errorf("%v", a.err)
				}
				var charged *ChargedError
				if !errors.As(a.err, &charged) {
					charged = &ChargedError{}
				}
				for _, id := range charged.Charges {
					if c := charges[id]; c.ID == "" || c.State == ledger.Committed && !c.Series {
						t.Errorf("the error names charge %s, which is %q", id, c.State)
					}
				}
				// Anyone who may have been drawn for nothing is named.
				missing := p.uses(t) - len(a.got) - len(charged.Charges)
				lost := errors.Is(a.err, ledger.ErrUnknown)
				if missing > 1 || missing == 1 && !lost {
					t.Errorf("%d uses, %d answers, and the error names %d: %v", p.uses(t), len(a.got), len(charged.Charges), a.err)
				}
				if a.err == nil && len(a.got) != 4 {
					t.Errorf("%d answers and no error", len(a.got))
				}
			})
		}
	}
}

// TestKilledAtEveryPoint: what was reserved stays, and a question asked again is paid for
// again.
func TestKilledAtEveryPoint(t *testing.T) {
	all := newPlace(t)
	all.open(t)
	for _, c := range []ledger.Composition{ledger.Sums, ledger.Adaptive} {
		t.Run(string(c), func(t *testing.T) { killedAtEveryPoint(t, all, c) })
	}
}

func killedAtEveryPoint(t *testing.T, all *place, composition ledger.Composition) {
	budgeted := func(t *testing.T) *place {
		p := all.fresh(t)
		p.budget(t, ledger.Budget{Epsilon: 100, Delta: 1e-3, Composition: composition})
		return p
	}
	reference := budgeted(t).ask(t, gaussian(), nil)
	must(t, reference.err)
	log := reference.points.log
	for point := 1; point <= len(log); point++ {
		t.Run(fmt.Sprintf("%d %s", point, log[point-1]), func(t *testing.T) {
			p := budgeted(t)
			asked := 0
			a := p.ask(t, gaussian(), func(n int, what string) error {
				if what == "ask to reserve" && composition == ledger.Adaptive || what == "after draw" {
					asked++
				}
				if n >= point {
					runtime.Goexit()
				}
				return nil
			})
			p.paid(t, a)
			if a.err == nil { // answers of other lengths have fewer points
				return
			}
			// The first draw finds no series.
			uses := p.uses(t)
			expect.Within(t, "uses", uses, asked-1, asked)
			expect.Min(t, "uses", uses, len(a.got))
			again := p.ask(t, gaussian(), nil)
			must(t, again.err)
			if n := p.uses(t); n != uses+4 {
				t.Errorf("%d uses before, %d after four more questions", uses, n)
			}
		})
	}
}

// TestCancelled: a question that is given up stays charged; what was streamed is covered.
func TestCancelled(t *testing.T) {
	p := newPlace(t)
	p.budget(t, ledger.Budget{Epsilon: 9, Delta: 1e-3})
	s := p.session(t, p.options(t, planFor(clipped()), newToy()))
	ctx, cancel := context.WithCancel(t.Context())
	var shown string
	_, err := s.Answer(ctx, "who?", func(soFar string) {
		shown = soFar
		cancel()
	})
	c := p.charges(t)
	charged := expect.As[*ChargedError](t, err)
	expect.True(t, "the error context.Canceled", errors.Is(err, context.Canceled), err)
	expect.True(t, "shown that is not empty", shown != "")
	expect.Len(t, "charges", c, 1)
	expect.Equal(t, "c[0].State", c[0].State, ledger.Forfeited)
	_, err = s.Answer(ctx, "who?", nil)
	at := expect.At(t, "a question after the first was cancelled")
	expect.True(at, "the error context.Canceled", errors.Is(err, context.Canceled), err)
	expect.True(at, "no *ChargedError", !errors.As(err, &charged), err)
	expect.Len(at, "charges", p.charges(t), 1)
	if err = s.All(ctx, inputs(2), nil); !errors.Is(err, context.Canceled) || len(p.charges(t)) != 1 {
		t.Errorf("questions after that: %v", err)
	}
}

// TestNotCovered: an answer that was made otherwise than was paid for is not handed out,
// nor streamed.
func TestNotCovered(t *testing.T) {
	for name, change := range map[string]func(*Session){
		"fewer tokens":  func(s *Session) { s.event = decode.TextEvent(clipped(), 5) },
		"another event": func(s *Session) { s.event = decode.TextEvent(gaussian(), 6) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.budget(t, ledger.Budget{Epsilon: 9, Delta: 1e-3})
			s := p.session(t, p.options(t, planFor(clipped()), newToy()))
			change(s)
			a, err := s.Answer(t.Context(), "who?", func(string) { t.Errorf("%s: streamed", name) })
			expect.True(t, "no a", a == nil, a)
			expect.As[*ChargedError](t, err)
			expect.Contains(t, "error", fmt.Sprint(err), "not pay")
		})
	}
}
