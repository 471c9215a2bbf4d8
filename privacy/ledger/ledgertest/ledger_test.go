package ledgertest

import (
	"errors"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// testLedger checks what the ledger promises, one sentence a test.
func testLedger(t *testing.T, b backend) {
	ten := ledger.Budget{Epsilon: 10}
	tests := []struct {
		name   string
		budget ledger.Budget
		test   func(*fixture)
	}{
		{"a charge that does not fit is refused and not charged", ten, refused},
		{"a dry run says what charges would meet, and makes none", ten, dryRun},
		{"the same request with the same key charges once", ten, idempotent},
		{"charges count in every state", ten, states},
		{"a commit shrinks a charge only through a filter", ledger.Budget{Epsilon: 10, Delta: 1e-6, Composition: ledger.Adaptive}, handsBack},
		{"a sums budget takes nothing back", ten, sumsKeeps},
		{"a charge must fit all its budgets", ten, scopes},
		{"windows open and close, and a clock set back opens none", ten, windows},
		{"grants and revocations add up exactly", ledger.Budget{Epsilon: 0.1, Delta: 1e-6}, grants},
		{"what is not proven is not booked", ten, unproven},
		{"charges of another kind are refused", ledger.Budget{Epsilon: 10, Adjacency: privacy.ReplaceOne, Unit: "user:id"}, mismatch},
		{"handles see each other's charges", ten, handles},
		{"a later budget counts earlier charges", ten, later},
		{"checkpoints fix the past", ten, checkpoints},
		{"bad requests are explained", ten, inputs},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.test(newFixture(t, b, tt.budget)) })
	}
}

func refused(f *fixture) {
	f.reserve("a", 7)
	_, err := f.Reserve(f.ctx, request("b", 4))
	e := wants[*ledger.RefusedError](f, err)
	if !errors.Is(err, ledger.ErrBudget) {
		f.Error("a refusal is not ErrBudget")
	}
	expect.Equal(f, "e.Budget", e.Budget, ledger.Global)
	expect.Equal(f, "e.Limit", e.Limit, 10)
	expect.Equal(f, "e.Spent", e.Spent, 7)
	expect.Equal(f, "e.Needed", e.Needed, 11)
	expect.Equal(f, "e.Left", e.Left(), 3)
	f.spent(7)
	f.reserve("b", 3) // the refusal did not use up the key
	f.spent(10)
	wants[*ledger.RefusedError](f, second(f.Reserve(f.ctx, request("c", 1))))
	if _, err := f.Reserve(f.ctx, ledger.ReserveRequest{Dataset: "records", Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: privacy.Compose{}, Proof: ledger.Proven, Run: "r", Key: "nothing"}); err != nil {
		f.Errorf("an event that touches nothing: %v", err)
	}
}

func dryRun(f *fixture) {
	f.reserve("a", 4)
	if err := f.CanReserve(f.ctx, request("", 2), 3); err != nil {
		f.Errorf("three of 2 beside 4 of 10: %v", err)
	}
	e := wants[*ledger.RefusedError](f, f.CanReserve(f.ctx, request("b", 2), 4))
	expect.Equal(f, "e.Dataset", e.Dataset, fingerprint(1))
	expect.Equal(f, "e.Limit", e.Limit, 10)
	expect.Equal(f, "e.Spent", e.Spent, 4)
	expect.Equal(f, "e.Needed", e.Needed, 12)
	expect.Equal(f, "e.Left", e.Left(), 6)
	expect.Equal(f, "e.AsOf", e.AsOf, 3)
	f.spent(4)
	if _, err := f.handle(false).Reserve(f.ctx, request("b", 6)); err != nil {
		f.Error(err)
	}
	wants[*ledger.RefusedError](f, f.CanReserve(f.ctx, request("", 1), 1)) // sees what others charged
	if _, err := f.AddBudget(f.ctx, ledger.BudgetRequest{Dataset: "records", Budget: ledger.Budget{Name: "past", Epsilon: 9, Until: epoch}}); err != nil {
		f.Fatal(err)
	}
	if e := wants[*ledger.RefusedError](f, f.CanReserve(f.ctx, request("", 1), 1)); !e.Closed {
		f.Errorf("while no window is open: %+v", e)
	}
	r := request("", 1)
	r.Dataset = "nowhere"
	wants[*ledger.UnknownDatasetError](f, f.CanReserve(f.ctx, r, 1))
	r = request("", 1)
	r.Unit = "user:id"
	wants[*ledger.MismatchError](f, f.CanReserve(f.ctx, r, 1))
	r = request("", 1)
	r.Proof = ledger.Claimed
	wants[*ledger.UnprovenError](f, f.CanReserve(f.ctx, r, 1))
	for _, n := range []int64{-1, 0, 1 << 40} {
		wants[*ledger.InputError](f, f.CanReserve(f.ctx, request("", 1), n))
	}
	wants[*ledger.InputError](f, f.CanReserve(f.ctx, ledger.ReserveRequest{Dataset: "records", Proof: ledger.Proven}, 1))
	f.spent(10)
}

// second drops the first of two results.
func second[T any](_ T, err error) error { return err }

func idempotent(f *fixture) {
	first := f.reserve("a", 3)
	again := f.reserve("a", 3)
	expect.Equal(f, "first.Existed", first.Existed, false)
	expect.Equal(f, "again.Existed", again.Existed, true)
	expect.Equal(f, "again.ID", again.ID, first.ID)
	same := request("a", 3)
	same.Event = privacy.Compose{Events: []privacy.Event{units(1), privacy.Repeat{N: 2, Event: units(1)}}}
	if c, err := f.Reserve(f.ctx, same); err != nil || c.ID != first.ID {
		f.Errorf("an equal event under the same key: %v, %v", c, err)
	}
	f.spent(3)
	f.Init(f.ctx, ledger.InitRequest{Dataset: fingerprint(2), Name: "others", Budget: ledger.Budget{Epsilon: 10}})
	for name, change := range map[string]func(*ledger.ReserveRequest){
		"event":    func(r *ledger.ReserveRequest) { r.Event = units(2) },
		"run":      func(r *ledger.ReserveRequest) { r.Run = "other" },
		"labels":   func(r *ledger.ReserveRequest) { r.Labels = map[string]string{"team": "x"} },
		"data set": func(r *ledger.ReserveRequest) { r.Dataset = "others" },
	} {
		r := request("a", 3)
		change(&r)
		if _, err := f.Reserve(f.ctx, r); !isA[*ledger.KeyError](err) {
			f.Errorf("the same key with another %s: %v", name, err)
		}
	}
	if _, err := f.Commit(f.ctx, ledger.CommitRequest{Charge: first.ID}); err != nil {
		f.Fatal(err)
	}
	if c := f.reserve("a", 3); c.State != ledger.Committed || !c.Existed {
		f.Errorf("a retry after the commit gives %+v", c)
	}
	g := ledger.GrantRequest{Dataset: "records", Epsilon: 1, Reason: "more", Key: "grant 1"}
	for range 2 {
		if d, err := f.Grant(f.ctx, g); err != nil || d.Budgets[0].Epsilon != 11 {
			f.Errorf("a repeated grant gives %+v, %v", d, err)
		}
	}
	g.Epsilon = 2
	wants[*ledger.KeyError](f, second(f.Grant(f.ctx, g)))
	f.spent(3)
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func states(f *fixture) {
	a, b := f.reserve("a", 2), f.reserve("b", 3)
	for range 2 { // committing and forfeiting again changes nothing
		if c, err := f.Commit(f.ctx, ledger.CommitRequest{Charge: a.ID}); err != nil || c.State != ledger.Committed {
			f.Errorf("commit: %+v, %v", c, err)
		}
		c, err := f.Forfeit(f.ctx, ledger.ForfeitRequest{Charge: b.ID, Reason: "machine lost"})
		at := expect.At(f, "forfeit")
		expect.NoError(at, err)
		expect.Equal(at, "c.State", c.State, ledger.Forfeited)
		expect.Equal(at, "c.Reason", c.Reason, "machine lost")
	}
	f.reserve("c", 4)
	f.spent(9)
	wants[*ledger.StateError](f, second(f.Forfeit(f.ctx, ledger.ForfeitRequest{Charge: a.ID, Reason: "r"})))
	wants[*ledger.StateError](f, second(f.Commit(f.ctx, ledger.CommitRequest{Charge: b.ID})))
	wants[*ledger.UnknownChargeError](f, second(f.Commit(f.ctx, ledger.CommitRequest{Charge: "no"})))
	wants[*ledger.UnknownChargeError](f, second(f.Charge(f.ctx, "no")))
	wants[*ledger.InputError](f, second(f.Forfeit(f.ctx, ledger.ForfeitRequest{Charge: b.ID})))
	d, err := f.Show(f.ctx, "records")
	if err != nil {
		f.Fatal(err)
	}
	expect.Len(f, "d.Charges", d.Charges, 3)
	expect.Equal(f, "d.Budgets[0].Reserved", d.Budgets[0].Reserved, 1)
	expect.Equal(f, "d.Budgets[0].Committed", d.Budgets[0].Committed, 1)
	expect.Equal(f, "d.Budgets[0].Forfeited", d.Budgets[0].Forfeited, 1)
	f.spent(9)
}

func handsBack(f *fixture) {
	a := f.reserve("a", 8)
	bad := map[string]ledger.CommitRequest{
		"without a filter": {Charge: a.ID, Spent: units(5)},
		"more":             {Charge: a.ID, Spent: units(9), Filtered: true},
		"another event":    {Charge: a.ID, Spent: privacy.Pure{Epsilon: 2}, Filtered: true},
		"a cheaper event":  {Charge: a.ID, Spent: privacy.Poisson{Q: 0.5, Event: units(1)}, Filtered: true},
	}
	for name, r := range bad {
		if _, err := f.Commit(f.ctx, r); !isA[*ledger.StateError](err) {
			f.Errorf("handing back %s: %v", name, err)
		}
	}
	f.spent(8)
	for range 2 {
		c, err := f.Commit(f.ctx, ledger.CommitRequest{Charge: a.ID, Spent: units(5), Filtered: true})
		at := expect.At(f, "handing back")
		expect.NoError(at, err)
		expect.Equal(at, "c.Spent", c.Spent, units(5).String())
		expect.Equal(at, "c.State", c.State, ledger.Committed)
	}
	wants[*ledger.StateError](f, second(f.Commit(f.ctx, ledger.CommitRequest{Charge: a.ID, Spent: units(4), Filtered: true})))
	wants[*ledger.StateError](f, second(f.Commit(f.ctx, ledger.CommitRequest{Charge: a.ID})))
	f.spent(5)
	b := f.reserve("b", 5)
	if _, err := f.Commit(f.ctx, ledger.CommitRequest{Charge: b.ID, Spent: privacy.Compose{}, Filtered: true}); err != nil {
		f.Errorf("handing all back: %v", err)
	}
	f.spent(5)
	c := f.reserve("c", 2)
	if c, err := f.Commit(f.ctx, ledger.CommitRequest{Charge: c.ID, Spent: units(2)}); err != nil || c.Spent != "" {
		f.Errorf("spending all that was reserved: %+v, %v", c, err)
	}
	f.spent(7)
}

func sumsKeeps(f *fixture) {
	a := f.reserve("a", 8)
	wants[*ledger.StateError](f, second(f.Commit(f.ctx, ledger.CommitRequest{Charge: a.ID, Spent: units(5), Filtered: true})))
	f.spent(8)
}

func unproven(f *fixture) {
	for name, change := range map[string]func(*ledger.ReserveRequest){
		"claimed":         func(r *ledger.ReserveRequest) { r.Proof = ledger.Claimed },
		"seeded":          func(r *ledger.ReserveRequest) { r.Proof = ledger.Seeded },
		"nothing said":    func(r *ledger.ReserveRequest) { r.Proof = "" },
		"nonprivate()":    func(r *ledger.ReserveRequest) { r.Event = privacy.NonPrivate{} },
		"hidden in q = 0": func(r *ledger.ReserveRequest) { r.Event = privacy.Poisson{Q: 0, Event: privacy.NonPrivate{}} },
	} {
		r := request("a", 1)
		change(&r)
		if _, err := f.Reserve(f.ctx, r); !isA[*ledger.UnprovenError](err) {
			f.Errorf("%s: %v", name, err)
		}
	}
	f.spent(0)
}

func mismatch(f *fixture) {
	r := request("a", 1)
	if e := wants[*ledger.MismatchError](f, second(f.Reserve(f.ctx, r))); e.What != "adjacency" {
		f.Errorf("mismatch of %s", e.What)
	}
	r.Adjacency = privacy.ReplaceOne
	if e := wants[*ledger.MismatchError](f, second(f.Reserve(f.ctx, r))); e.What != "unit" {
		f.Errorf("mismatch of %s", e.What)
	}
	r.Unit = "user:id"
	if _, err := f.Reserve(f.ctx, r); err != nil {
		f.Error(err)
	}
	// Budgets of older ledgers may have the column alone.
	old := ledger.InitRequest{Dataset: fingerprint(77), Name: "old", Budget: ledger.Budget{Epsilon: 1, Unit: "id"}}
	if _, err := f.Init(f.ctx, old); err != nil {
		f.Error(err)
	}
	r = request("of old", 1)
	r.Dataset = "old"
	wants[*ledger.MismatchError](f, second(f.Reserve(f.ctx, r)))
	r.Unit = "user:id"
	if _, err := f.Reserve(f.ctx, r); err != nil {
		f.Error(err)
	}
	b := ledger.BudgetRequest{Dataset: "records", Budget: ledger.Budget{Name: "b", Epsilon: 1, Adjacency: privacy.AddRemove}}
	wants[*ledger.MismatchError](f, second(f.AddBudget(f.ctx, b)))
	r.Dataset = "nowhere"
	wants[*ledger.UnknownDatasetError](f, second(f.Reserve(f.ctx, r)))
	wants[*ledger.UnknownDatasetError](f, second(f.Show(f.ctx, "nowhere")))
}

func handles(f *fixture) {
	other := f.handle(false)
	a := f.reserve("a", 6)
	wants[*ledger.RefusedError](f, second(other.Reserve(f.ctx, request("b", 5))))
	if _, err := other.Commit(f.ctx, ledger.CommitRequest{Charge: a.ID}); err != nil {
		f.Error(err)
	}
	if c, err := f.Charge(f.ctx, a.ID); err != nil || c.State != ledger.Committed {
		f.Errorf("the first handle sees %+v, %v", c, err)
	}
	if c, err := f.handle(false).Reserve(f.ctx, request("a", 6)); err != nil || c.ID != a.ID {
		f.Errorf("a third handle: %+v, %v", c, err)
	}
	f.spent(6)
}

func checkpoints(f *fixture) {
	f.reserve("a", 1)
	past, err := f.Checkpoint(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	f.reserve("b", 1)
	again, err := ledger.ParseCheckpoint(past.String() + "\n")
	if err != nil || again != past {
		f.Errorf("%s reads as %s, %v", past, again, err)
	}
	report, err := f.Check(f.ctx, ledger.CheckOptions{Checkpoints: []ledger.Checkpoint{past}})
	expect.NoError(f, err)
	expect.Equal(f, "report.Rows", report.Rows, 4)
	expect.Equal(f, "report.Charges", report.Charges, 2)
	expect.Equal(f, "report.Datasets[0].Budgets[0].Spent", report.Datasets[0].Budgets[0].Spent, 2)
	bad := map[string]func(*ledger.Checkpoint){
		"another ledger":      func(c *ledger.Checkpoint) { c.Log[0] ^= 1 },
		"another past":        func(c *ledger.Checkpoint) { c.Hash[0] ^= 1 },
		"rows that were lost": func(c *ledger.Checkpoint) { c.Count = 9 },
	}
	for name, change := range bad {
		c := past
		change(&c)
		_, err := f.Check(f.ctx, ledger.CheckOptions{Checkpoints: []ledger.Checkpoint{past, c}})
		if !isA[*ledger.TamperedError](err) {
			f.Errorf("a checkpoint of %s: %v", name, err)
		}
	}
}

func inputs(f *fixture) {
	reserve := map[string]func(*ledger.ReserveRequest){
		"no event":       func(r *ledger.ReserveRequest) { r.Event = nil },
		"no run":         func(r *ledger.ReserveRequest) { r.Run = "" },
		"no key":         func(r *ledger.ReserveRequest) { r.Key = "" },
		"a long key":     func(r *ledger.ReserveRequest) { r.Key = strings.Repeat("k", 257) },
		"a broken key":   func(r *ledger.ReserveRequest) { r.Key = "\xff" },
		"a line break":   func(r *ledger.ReserveRequest) { r.Run = "a\nb" },
		"a bad label":    func(r *ledger.ReserveRequest) { r.Labels = map[string]string{"a:b": "c"} },
		"a huge event":   func(r *ledger.ReserveRequest) { r.Event = huge() },
		"an empty label": func(r *ledger.ReserveRequest) { r.Labels = map[string]string{"": "c"} },
	}
	for name, change := range reserve {
		r := request("a", 1)
		change(&r)
		if _, err := f.Reserve(f.ctx, r); !isA[*ledger.InputError](err) {
			f.Errorf("a reservation with %s: %v", name, err)
		}
	}
	if _, err := f.Reserve(f.ctx, ledger.ReserveRequest{Dataset: "records", Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: privacy.Pure{Epsilon: -1}, Proof: ledger.Proven, Run: "r", Key: "k"}); !isA[*privacy.ParameterError](err) {
		f.Errorf("an invalid event: %v", err)
	}
	if _, err := f.Reserve(f.ctx, ledger.ReserveRequest{Dataset: "records", Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: privacy.Gaussian{Sigma: 1}, Proof: ledger.Proven, Run: "r", Key: "k"}); err == nil {
		f.Error("an event that the meter cannot handle was charged")
	}
	inits := map[string]ledger.InitRequest{
		"no fingerprint":    {Budget: ledger.Budget{Epsilon: 1}},
		"content":           {Dataset: "Anna,32,diabetes", Budget: ledger.Budget{Epsilon: 1}},
		"a scoped global":   {Dataset: fingerprint(9), Budget: ledger.Budget{Epsilon: 1, Scope: map[string]string{"a": "b"}}},
		"a named global":    {Dataset: fingerprint(9), Budget: ledger.Budget{Name: "x", Epsilon: 1}},
		"negative ε":        {Dataset: fingerprint(9), Budget: ledger.Budget{Epsilon: -1}},
		"δ of 1":            {Dataset: fingerprint(9), Budget: ledger.Budget{Epsilon: 1, Delta: 1}},
		"bad adjacency":     {Dataset: fingerprint(9), Budget: ledger.Budget{Epsilon: 1, Adjacency: "near"}},
		"bad composition":   {Dataset: fingerprint(9), Budget: ledger.Budget{Epsilon: 1, Composition: "loose"}},
		"adaptive, δ of 0":  {Dataset: fingerprint(9), Budget: ledger.Budget{Epsilon: 1, Composition: ledger.Adaptive}},
		"a name like a URL": {Dataset: fingerprint(9), Name: "a:b", Budget: ledger.Budget{Epsilon: 1}},
	}
	for name, r := range inits {
		if _, err := f.Init(f.ctx, r); !isA[*ledger.InputError](err) {
			f.Errorf("a data set with %s: %v", name, err)
		}
	}
	wants[*ledger.ExistsError](f, second(f.Init(f.ctx, ledger.InitRequest{Dataset: fingerprint(1), Budget: ledger.Budget{Epsilon: 1}})))
	wants[*ledger.ExistsError](f, second(f.Init(f.ctx, ledger.InitRequest{Dataset: fingerprint(2), Name: "records", Budget: ledger.Budget{Epsilon: 1}})))
	upside := ledger.Budget{Name: "w", Epsilon: 1, From: epoch, Until: epoch}
	wants[*ledger.InputError](f, second(f.AddBudget(f.ctx, ledger.BudgetRequest{Dataset: "records", Budget: upside})))
	f.spent(0)
}

// huge returns an event of many different terms.
func huge() privacy.Event {
	var parts []privacy.Event
	for i := range 10_000 {
		parts = append(parts, privacy.Pure{Epsilon: float64(i + 1)})
	}
	return privacy.Compose{Events: parts}
}
