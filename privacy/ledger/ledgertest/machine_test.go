package ledgertest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// testModel compares the ledger with a model of it that is simple enough to be
// plainly right, over random sequences of requests.
func testModel(t *testing.T, b backend) {
	if b.SQL != nil {
		// The rules are tested at length on the fast back-end; here only their
		// way through a database.
		Checks(t, knob("SOTTO_LEDGER_MODELS", 4))
	}
	rapid.Check(t, func(rt *rapid.T) {
		c := rapid.SampledFrom([]ledger.Composition{ledger.Sums, ledger.Adaptive}).Draw(rt, "composition")
		m := &machine{b: b, t: t, address: b.New(t), budgets: []modelBudget{{name: ledger.Global, limit: 20, composition: c}}}
		for range 2 {
			m.ledgers = append(m.ledgers, m.open(rt))
		}
		defer func() {
			for _, l := range m.ledgers {
				l.Close()
			}
		}()
		_, err := m.ledgers[0].Init(t.Context(), ledger.InitRequest{
			Dataset: fingerprint(1), Name: "records",
			Budget: ledger.Budget{Epsilon: 20, Delta: 1e-6, Composition: c},
		})
		if err != nil {
			rt.Fatal(err)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"":        m.check,
			"reserve": m.reserve,
			"dry run": m.dryRun,
			"retry":   m.retry,
			"draw":    m.draw,
			"end":     m.end,
			"budget":  m.budget,
			"grant":   m.grant,
			"clock":   m.tick,
			"reopen":  m.reopen,
		})
	})
}

type modelBudget struct {
	name        string
	limit       int64
	team        string // empty: all
	from, until int    // days; 0: open
	composition ledger.Composition
}

type modelCharge struct {
	key     string
	n       int64 // reserved
	counted int64
	team    string
	day     int
	state   ledger.State
	id      ledger.ChargeID
	series  bool
	drawn   int64
}

// machine is the model beside the ledger.
type machine struct {
	t       *testing.T
	b       backend
	address string
	clock   clock
	ledgers []*ledger.Ledger

	day     int // of the ledger: the latest that a row was written on
	today   int // of the clock
	budgets []modelBudget
	charges []*modelCharge
	draws   int
}

func (m *machine) open(rt *rapid.T) *ledger.Ledger {
	l, err := openLedger(m.t.Context(), m.b, m.address, options{Create: true}, &m.clock)
	if err != nil {
		rt.Fatal(err)
	}
	return l
}

func (m *machine) any(rt *rapid.T) *ledger.Ledger {
	return rapid.SampledFrom(m.ledgers).Draw(rt, "handle")
}

// now returns the day that a row would be dated; wrote records that one was.
func (m *machine) now() int { return max(m.day, m.today) }
func (m *machine) wrote()   { m.day = m.now() }

func (b *modelBudget) covers(team string) bool { return b.team == "" || b.team == team }
func (b *modelBudget) open(day int) bool {
	return (b.from == 0 || day >= b.from) && (b.until == 0 || day < b.until)
}
func (b *modelBudget) windowed() bool { return b.from != 0 || b.until != 0 }

func (m *machine) spent(b *modelBudget) int64 {
	var sum int64
	for _, c := range m.charges {
		if b.covers(c.team) && b.open(c.day) {
			sum += c.counted
		}
	}
	return sum
}

// admits reports whether a charge must be admitted.
func (m *machine) admits(n int64, team string) bool {
	for i := range m.budgets {
		if b := &m.budgets[i]; b.covers(team) && b.open(m.now()) && m.spent(b)+n > b.limit {
			return false
		}
	}
	return !m.closed(team)
}

// closed reports whether the windows of a scope are all closed.
func (m *machine) closed(team string) bool {
	for i := range m.budgets {
		b, open := &m.budgets[i], false
		for j := range m.budgets {
			o := &m.budgets[j]
			open = open || o.windowed() && o.team == b.team && o.open(m.now())
		}
		if b.covers(team) && !b.open(m.now()) && !open {
			return true
		}
	}
	return false
}

func (m *machine) request(key string, n int64, team string) ledger.ReserveRequest {
	r := request(key, n)
	if team != "" {
		r.Labels = map[string]string{"team": team}
	}
	return r
}

func (m *machine) reserve(rt *rapid.T) {
	n := rapid.Int64Range(1, 6).Draw(rt, "n")
	team := rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "team")
	key := fmt.Sprint("key ", len(m.charges))
	series := rapid.Bool().Draw(rt, "series")
	req := m.request(key, n, team)
	req.Series = series
	c, err := m.any(rt).Reserve(m.t.Context(), req)
	switch fits := m.admits(n, team); {
	case err == nil && fits:
		m.wrote()
		charge := &modelCharge{key: key, n: n, counted: n, team: team, day: m.day, state: ledger.Reserved, id: c.ID, series: series}
		m.charges = append(m.charges, charge)
	case err == nil:
		rt.Fatalf("%d units of team %q were charged and do not fit", n, team)
	case !errors.Is(err, ledger.ErrBudget):
		rt.Fatal(err)
	case fits:
		rt.Fatalf("%d units of team %q fit and were refused: %v", n, team, err)
	}
}

// dryRun asks about several charges, which changes nothing (see check).
func (m *machine) dryRun(rt *rapid.T) {
	n := rapid.Int64Range(1, 6).Draw(rt, "n")
	times := rapid.Int64Range(1, 4).Draw(rt, "times")
	team := rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "team")
	err := m.any(rt).CanReserve(m.t.Context(), m.request("", n, team), times)
	if fits := m.admits(n*times, team); fits != (err == nil) || err != nil && !errors.Is(err, ledger.ErrBudget) {
		rt.Fatalf("%d charges of %d units of team %q fit: %v; the dry run says %v", times, n, team, fits, err)
	}
}

func (m *machine) charge(rt *rapid.T) *modelCharge {
	if len(m.charges) == 0 {
		rt.Skip("no charges")
	}
	return rapid.SampledFrom(m.charges).Draw(rt, "charge")
}

func (m *machine) retry(rt *rapid.T) {
	c := m.charge(rt)
	req := m.request(c.key, c.n, c.team)
	req.Series = c.series
	got, err := m.any(rt).Reserve(m.t.Context(), req)
	expect.NoError(rt, err)
	expect.Equal(rt, "got.ID", got.ID, c.id)
	expect.Equal(rt, "got.Existed", got.Existed, true)
	expect.Equal(rt, "got.State", got.State, c.state)
	req.Event = units(c.n + 1)
	_, err = m.any(rt).Reserve(m.t.Context(), req)
	if !isA[*ledger.KeyError](err) {
		rt.Fatalf("the key of %+v for another event: %v", c, err)
	}
}

// pays reports whether a series counts toward the budgets that a use would count toward now.
func (m *machine) pays(c *modelCharge) bool {
	for i := range m.budgets {
		if b := &m.budgets[i]; b.covers(c.team) && b.open(c.day) != b.open(m.now()) {
			return false
		}
	}
	return !m.closed(c.team)
}

// draw takes one unit out of the oldest series that pays for it, twice with the same key.
func (m *machine) draw(rt *rapid.T) {
	team := rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "team")
	var from *modelCharge
	for _, c := range m.charges {
		if c.series && c.state == ledger.Reserved && c.team == team && c.drawn < c.n && m.pays(c) {
			from = c
			break
		}
	}
	m.draws++
	req := ledger.ReserveRequest{Dataset: "records", Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: units(1), Proof: ledger.Proven, Labels: m.request("", 1, team).Labels, Run: "draw", Key: fmt.Sprint("draw ", m.draws)}
	got, err := m.any(rt).Draw(m.t.Context(), req)
	if from == nil {
		if !isA[*ledger.NoSeriesError](err) && (!m.closed(team) || !isA[*ledger.RefusedError](err)) {
			rt.Fatalf("drawn from %+v, where nothing is left: %v", got, err)
		}
		return
	}
	from.drawn++
	expect.NoError(rt, err)
	expect.Equal(rt, "got.Charge.ID", got.Charge.ID, from.id)
	expect.Equal(rt, "got.Left", got.Left, from.n-from.drawn)
	expect.Equal(rt, "got.Existed", got.Existed, false)
	m.wrote()
	got, err = m.any(rt).Draw(m.t.Context(), req)
	expect.NoError(rt, err)
	expect.Equal(rt, "got.Charge.ID", got.Charge.ID, from.id)
	expect.Equal(rt, "got.Left", got.Left, from.n-from.drawn)
	expect.Equal(rt, "got.Existed", got.Existed, true)
}

// end commits all or part of a charge, or forfeits it.
func (m *machine) end(rt *rapid.T) {
	c := m.charge(rt)
	l := m.any(rt)
	if rapid.IntRange(0, 3).Draw(rt, "forfeit") == 0 {
		_, err := l.Forfeit(m.t.Context(), ledger.ForfeitRequest{Charge: c.id, Reason: "died"})
		m.ended(rt, c, ledger.Forfeited, c.counted, c.state == ledger.Forfeited, true, err)
		return
	}
	spent := rapid.Int64Range(0, c.n).Draw(rt, "spent")
	event := units(max(spent, 1))
	if spent == 0 {
		event = privacy.Compose{}
	}
	_, err := l.Commit(m.t.Context(), ledger.CommitRequest{Charge: c.id, Spent: event, Filtered: true})
	allowed := true
	for i := range m.budgets {
		b := &m.budgets[i]
		allowed = allowed && (spent == c.n || b.composition == ledger.Adaptive || !b.covers(c.team) || !b.open(c.day))
	}
	allowed = allowed && spent >= c.drawn
	m.ended(rt, c, ledger.Committed, spent, c.state == ledger.Committed && c.counted == spent, allowed, err)
}

func (m *machine) ended(rt *rapid.T, c *modelCharge, to ledger.State, counted int64, repeated, allowed bool, err error) {
	switch {
	case repeated && err == nil:
	case c.state == ledger.Reserved && allowed && err == nil:
		c.state, c.counted = to, counted
		m.wrote()
	case c.state == ledger.Reserved && allowed || repeated || !isA[*ledger.StateError](err):
		rt.Fatalf("%+v to %s with %d: %v", c, to, counted, err)
	}
}

func (m *machine) budget(rt *rapid.T) {
	if len(m.budgets) >= 5 {
		rt.Skip("enough budgets")
	}
	b := modelBudget{
		name:        fmt.Sprint("budget ", len(m.budgets)),
		limit:       rapid.Int64Range(0, 15).Draw(rt, "limit"),
		team:        rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "team"),
		composition: rapid.SampledFrom([]ledger.Composition{ledger.Sums, ledger.Adaptive}).Draw(rt, "composition"),
	}
	if rapid.Bool().Draw(rt, "windowed") {
		b.from = rapid.IntRange(1, 20).Draw(rt, "from")
		b.until = b.from + rapid.IntRange(1, 20).Draw(rt, "length")
	}
	req := ledger.BudgetRequest{Dataset: "records", Budget: ledger.Budget{Name: b.name, Epsilon: float64(b.limit), Delta: 1e-6, Composition: b.composition}}
	if b.team != "" {
		req.Budget.Scope = map[string]string{"team": b.team}
	}
	if b.windowed() {
		req.Budget.From, req.Budget.Until = date(b.from), date(b.until)
	}
	_, err := m.any(rt).AddBudget(m.t.Context(), req)
	if m.late(&b) {
		if !isA[*ledger.InputError](err) {
			rt.Fatalf("%+v counts charges whose cost was not fixed for it: %v", b, err)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	m.wrote()
	m.budgets = append(m.budgets, b)
}

// late reports whether a budget would count earlier charges in a way that was not fixed
// when they were made.
func (m *machine) late(b *modelBudget) bool {
	if b.composition == m.budgets[0].composition {
		return false
	}
	for _, c := range m.charges {
		if b.covers(c.team) && b.open(c.day) {
			return true
		}
	}
	return false
}

func date(day int) time.Time { return epoch.AddDate(0, 0, day) }

func (m *machine) grant(rt *rapid.T) {
	b := &m.budgets[rapid.IntRange(0, len(m.budgets)-1).Draw(rt, "budget")]
	n := rapid.Int64Range(-6, 6).Filter(func(n int64) bool { return n != 0 }).Draw(rt, "by")
	req := ledger.GrantRequest{Dataset: "records", Budget: b.name, Epsilon: float64(n), Reason: "because"}
	if n > 0 {
		if _, err := m.any(rt).Grant(m.t.Context(), req); err != nil {
			rt.Fatal(err)
		}
	} else {
		req.Epsilon = -req.Epsilon
		_, err := m.any(rt).Revoke(m.t.Context(), req)
		if (err == nil) != (b.limit+n >= 0) {
			rt.Fatalf("lowering %d by %d: %v", b.limit, -n, err)
		}
		if err != nil {
			return
		}
	}
	m.wrote()
	b.limit += n
}

// tick sets the clock, also back.
func (m *machine) tick(rt *rapid.T) {
	m.today = rapid.IntRange(1, 45).Draw(rt, "day")
	m.clock.Set(date(m.today).Sub(epoch))
}

func (m *machine) reopen(rt *rapid.T) {
	i := rapid.IntRange(0, len(m.ledgers)-1).Draw(rt, "handle")
	if err := m.ledgers[i].Close(); err != nil {
		rt.Fatal(err)
	}
	m.ledgers[i] = m.open(rt)
}

// check compares all balances.
func (m *machine) check(rt *rapid.T) {
	l := m.any(rt)
	d, err := l.Show(m.t.Context(), "records")
	if err != nil {
		rt.Fatal(err)
	}
	if len(d.Budgets) != len(m.budgets) || len(d.Charges) != len(m.charges) {
		rt.Fatalf("%d budgets and %d charges, want %d and %d", len(d.Budgets), len(d.Charges), len(m.budgets), len(m.charges))
	}
	for i := range m.budgets {
		b := &m.budgets[i]
		got := d.Budgets[i]
		at := expect.At(rt, "%+v", b)
		expect.Equal(at, "int64(got.Spent)", int64(got.Spent), m.spent(b))
		expect.Equal(at, "int64(got.Epsilon)", int64(got.Epsilon), b.limit)
		expect.Equal(at, "got.Open", got.Open, b.open(m.now()))
	}
	for i, c := range m.charges {
		got := d.Charges[i]
		at := expect.At(rt, "%+v", c)
		expect.Equal(at, "got.ID", got.ID, c.id)
		expect.Equal(at, "got.State", got.State, c.state)
		expect.Equal(at, "got.Drawn", got.Drawn, c.drawn)
	}
	if _, err := l.Check(m.t.Context(), ledger.CheckOptions{}); err != nil {
		rt.Fatal(err)
	}
}
