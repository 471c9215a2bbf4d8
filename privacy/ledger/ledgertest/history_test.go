package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sotto-dp/sotto/privacy/ledger"
)

// The history that the checker sees: the clients' calls and answers, with their times.
type (
	call struct {
		Op     string // reserve, shared, commit, forfeit, balance
		N      int64  // units reserved, or handed back
		Shared int    // which shared key
	}
	answer struct {
		OK      bool // false: refused
		Existed bool
		Row     int64 // that was written, or was the last one read
		Spent   int64 // as stated by a refusal or a balance
	}
	operation struct {
		Client       int
		Call, Return int64
		In           call
		Out          answer
	}
)

const sharedKeys = 5

// sequential is the ledger as one client after the other would see it.
type sequential struct {
	spent, rows int64
	shared      [sharedKeys]int64 // the row of the charge of each shared key
	// reads is how often the current state was read.
	reads int
}

// firstRows are the rows for the ledger itself and its data set.
const firstRows = 2

// model returns a ledger with a limit, for a history with so many reads of each state. That
// number is no more than a hint: since every read must stand between the write it saw last
// and the one it did not see, the next write cannot come before all of them. Without it the
// checker finds that out late, and takes forever.
func model(limit int64, reads map[int64]int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return sequential{rows: firstRows} },
		Step: func(state, in, out any) (bool, any) {
			s, a := state.(sequential), out.(answer)
			if in := in.(call); in.reads(a) {
				return s.read(limit, in, a)
			} else {
				return s.write(limit, in, a, reads[s.rows])
			}
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
	}
}

// reads reports whether a call changed nothing.
func (in call) reads(out answer) bool { return in.Op == "balance" || !out.OK || out.Existed }

func (s sequential) read(limit int64, in call, out answer) (bool, any) {
	if out.Existed {
		return in.Op == "shared" && out.OK && out.Row == s.shared[in.Shared], s
	}
	if !out.OK && s.spent+in.N <= limit || in.Op == "shared" && s.shared[in.Shared] != 0 {
		return false, s
	}
	s.reads++
	return out.Spent == s.spent && out.Row == s.rows, s
}

func (s sequential) write(limit int64, in call, out answer, reads int) (bool, any) {
	ok := s.reads == reads
	s.reads = 0
	s.rows++
	switch in.Op {
	case "commit", "forfeit":
		s.spent -= in.N
	case "shared":
		ok = ok && s.shared[in.Shared] == 0
		s.shared[in.Shared] = out.Row
		fallthrough
	case "reserve":
		s.spent += in.N
		ok = ok && s.spent <= limit
	}
	return ok && out.Row == s.rows, s
}

// api is the part of a ledger that clients use.
type api interface {
	Reserve(context.Context, ledger.ReserveRequest) (ledger.Charge, error)
	Commit(context.Context, ledger.CommitRequest) (ledger.Charge, error)
	Forfeit(context.Context, ledger.ForfeitRequest) (ledger.Charge, error)
	Balance(context.Context, string) (ledger.Dataset, error)
}

// client sends random requests and records them.
type client struct {
	api
	id   int
	rand *rand.Rand
	mine []ledger.Charge
	n    map[ledger.ChargeID]int64
}

func (c *client) run(ctx context.Context, ops int, record func(operation)) error {
	for i := range ops {
		do := c.choose(i)
		// The wall clock, for it is the same in all processes.
		began := time.Now().UnixNano()
		in, out, err := do(ctx)
		ended := time.Now().UnixNano()
		if err != nil {
			return fmt.Errorf("client %d, %s: %w", c.id, in.Op, err)
		}
		record(operation{c.id, began, ended, in, out})
	}
	return nil
}

func (c *client) choose(i int) func(context.Context) (call, answer, error) {
	switch k := c.rand.IntN(20); {
	case k < 3 && len(c.mine) > 0:
		return c.commit
	case k < 4 && len(c.mine) > 0:
		return c.forfeit
	case k < 6:
		return c.balance
	case k < 9:
		key := c.rand.IntN(sharedKeys)
		return c.reserve(call{Op: "shared", Shared: key, N: int64(key%3 + 1)}, fmt.Sprint("shared ", key))
	}
	return c.reserve(call{Op: "reserve", N: c.rand.Int64N(3) + 1}, fmt.Sprintf("%d/%d", c.id, i))
}

func (c *client) reserve(in call, key string) func(context.Context) (call, answer, error) {
	return func(ctx context.Context) (call, answer, error) {
		charge, err := c.Reserve(ctx, request(key, in.N))
		var refused *ledger.RefusedError
		if errors.As(err, &refused) {
			return in, answer{Spent: int64(refused.Spent), Row: refused.AsOf}, nil
		}
		if err == nil && in.Op == "reserve" {
			c.mine = append(c.mine, charge)
			c.n[charge.ID] = in.N
		}
		return in, answer{OK: true, Existed: charge.Existed, Row: charge.Row}, err
	}
}

func (c *client) pop() ledger.Charge {
	last := c.mine[len(c.mine)-1]
	c.mine = c.mine[:len(c.mine)-1]
	return last
}

func (c *client) commit(ctx context.Context) (call, answer, error) {
	charge := c.pop()
	n := c.n[charge.ID]
	spent := c.rand.Int64N(n) + 1
	charge, err := c.Commit(ctx, ledger.CommitRequest{Charge: charge.ID, Spent: units(spent), Filtered: true})
	return call{Op: "commit", N: n - spent}, answer{OK: true, Row: charge.EndRow}, err
}

func (c *client) forfeit(ctx context.Context) (call, answer, error) {
	charge, err := c.Forfeit(ctx, ledger.ForfeitRequest{Charge: c.pop().ID, Reason: "gave up"})
	return call{Op: "forfeit"}, answer{OK: true, Row: charge.EndRow}, err
}

func (c *client) balance(ctx context.Context) (call, answer, error) {
	d, err := c.Balance(ctx, "records")
	if err != nil {
		return call{Op: "balance"}, answer{}, err
	}
	return call{Op: "balance"}, answer{OK: true, Spent: int64(d.Budgets[0].Spent), Row: d.AsOf}, nil
}

// clients is a number of clients in one process.
type clients struct {
	Address string
	First   int // number of the first client
	Count   int
	Handles int
	Ops     int
	Limit   int64
}

// run runs the clients and writes what they did as lines of JSON.
func (c clients) run(ctx context.Context, b backend, wrap func(*ledger.Ledger) api, w io.Writer) error {
	var handles []api
	for range c.Handles {
		l, err := openLedger(ctx, b, c.Address, options{}, nil)
		if err != nil {
			return err
		}
		defer l.Close()
		handles = append(handles, wrap(l))
	}
	var mu sync.Mutex
	lines := json.NewEncoder(w)
	var failed error
	var wg sync.WaitGroup
	for i := range c.Count {
		id := c.First + i
		one := &client{
			api: handles[i%len(handles)], id: id,
			rand: rand.New(rand.NewPCG(uint64(id), 7)), n: map[ledger.ChargeID]int64{},
		}
		wg.Go(func() {
			err := one.run(ctx, c.Ops, func(o operation) {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, lines.Encode(o))
			})
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	return failed
}

// racyLedger is a ledger with a bug: it checks the budget, and then charges
// without holding anything in between. The ledger under it allows everything.
type racyLedger struct {
	*ledger.Ledger
	limit int64
}

// Reserve checks, then charges.
func (u racyLedger) Reserve(ctx context.Context, req ledger.ReserveRequest) (ledger.Charge, error) {
	d, err := u.Balance(ctx, req.Dataset)
	if err != nil {
		return ledger.Charge{}, err
	}
	time.Sleep(time.Millisecond)
	if spent := d.Budgets[0].Spent; int64(spent)+unitsOf(req.Event) > u.limit {
		return ledger.Charge{}, &ledger.RefusedError{Spent: spent, AsOf: d.AsOf}
	}
	return u.Ledger.Reserve(ctx, req)
}

// testLinearizable records the history of many clients in two processes and
// looks for an order of their requests, one at a time, that explains all
// answers.
func testLinearizable(t *testing.T, b backend) {
	const processes = 2
	total := knob("SOTTO_LEDGER_CLIENTS", 64)
	ops := knob("SOTTO_LEDGER_OPS", 6)
	limit := int64(total * ops / 2)
	budget := ledger.Budget{Epsilon: float64(limit), Delta: 1e-6, Composition: ledger.Adaptive}

	t.Run("two processes", func(t *testing.T) {
		f := newFixture(t, b, budget)
		var histories [processes]func() []operation
		for i := range processes {
			histories[i] = startClients(t, clients{
				Address: f.address, First: i * total / processes, Count: total / processes, Handles: 6, Ops: ops, Limit: limit,
			})
		}
		var history []operation
		for _, wait := range histories {
			history = append(history, wait()...)
		}
		if len(history) != total*ops {
			t.Fatalf("%d operations were recorded, want %d", len(history), total*ops)
		}
		if got := linearizable(history, limit); got != porcupine.Ok {
			t.Errorf("the history of %d clients is %s", total, got)
		}
		spent := int64(wantBalance(f).Spent)
		if spent > limit || spent < limit/2 {
			t.Errorf("%d of %d is spent: too much, or too little to test the limit", spent, limit)
		}
		f.spent(float64(spent))
	})
	t.Run("a check without a lock is caught", func(t *testing.T) {
		// Few clients, for to be sure that no order explains a history the checker
		// has to try them all.
		const few, limit = 16, 8
		budget.Epsilon = 1e9
		f := newFixture(t, b, budget)
		r, w := io.Pipe()
		go func() {
			c := clients{Address: f.address, Count: few, Handles: 8, Ops: 3}
			w.CloseWithError(c.run(f.ctx, b, func(l *ledger.Ledger) api { return racyLedger{l, limit} }, w))
		}()
		if got := linearizable(readHistory(t, r), limit); got != porcupine.Illegal {
			t.Errorf("the history of a ledger with a bug is %s", got)
		}
		if spent := int64(wantBalance(f).Spent); spent <= limit {
			t.Errorf("%d of %d is spent: the bug did not show", spent, limit)
		}
	})
}

func wantBalance(f *fixture) ledger.Balance {
	f.Helper()
	d, err := f.Balance(f.ctx, "records")
	if err != nil {
		f.Fatal(err)
	}
	return d.Budgets[0]
}

func linearizable(history []operation, limit int64) porcupine.CheckResult {
	ops := make([]porcupine.Operation, len(history))
	reads := map[int64]int{}
	for i, o := range history {
		if o.In.reads(o.Out) && !o.Out.Existed {
			reads[o.Out.Row]++
		}
		ops[i] = porcupine.Operation{ClientId: o.Client, Input: o.In, Call: o.Call, Output: o.Out, Return: o.Return}
	}
	return porcupine.CheckOperationsTimeout(model(limit, reads), ops, 30*time.Second)
}

func readHistory(t *testing.T, r io.Reader) []operation {
	t.Helper()
	var history []operation
	for d := json.NewDecoder(r); ; {
		var o operation
		if err := d.Decode(&o); err == io.EOF {
			return history
		} else if err != nil {
			t.Fatal(err)
		}
		history = append(history, o)
	}
}
