package ledgertest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/sketch"
)

// The ids of two keys.
const (
	ourKey   = "00000000000000aa"
	otherKey = "00000000000000bb"
)

// testIdentity checks that a data set is its records, one sentence a test.
func testIdentity(t *testing.T, b backend) {
	for _, tt := range []struct {
		name string
		test func(*fixture)
	}{
		{"data that shares most records is the same data set", recognised},
		{"data that shares some records is for its owner to decide", partly},
		{"data linked with several counts toward each, or toward none", several},
		{"other people have a budget of their own, and the reason stays", newPeople},
		{"another key is refused", wrongKey},
		{"a data set that changes step by step stays one", drift},
		{"a data set without a sketch learns it at its next use", learns},
		{"data sets that turn out to be the same are for their owner to decide", turnsOut},
		{"a run that was paid for continues", goesOn},
		{"what was charged before a link counts after it", linkedLate},
		{"links do not go in a circle", circle},
		{"two that look alike are for their owner to decide", ambiguous},
		{"a part of a data set does not stand for it", partStandsForNothing},
		{"new data has people of one data set, and others than another that shares rows", towardAndApart},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(newFixture(t, b, ledger.Budget{Epsilon: 10})) })
	}
}

// people is data that has the records of some people, numbered from first to last, in a
// file of its own.
func people(file, key string, first, last int) ledger.Identity {
	s := sketch.New(key)
	rows, sum := sketch.NewBuilder(sketch.Size), uint64(0)
	for i := first; i <= last; i++ {
		h := sha256.Sum256(fmt.Appendf(nil, "%s %d", key, i))
		rows.Add(binary.BigEndian.Uint64(h[:]))
		sum += binary.BigEndian.Uint64(h[:])
	}
	whole := sha256.Sum256(fmt.Appendf(nil, "%s sum %d", key, sum))
	s.Rows, s.Whole = rows.List(), fmt.Sprintf("%x", whole[:8])
	return ledger.Identity{Fingerprint: printOf(file + " " + key), Sketch: s, KeyID: key, KeyPath: "the/key"}
}

// partStandsForNothing: using a part of a data set does not decide for its owner what other data
// is that holds the part and is mostly new.
func partStandsForNothing(f *fixture) {
	f.enter("clients", people("all", ourKey, 1, 800), 10)
	mixed := func(file string) ledger.Identity { return people(file, ourKey, 771, 1740) } // 30 of them, and 940 others
	f.overlaps(mixed("before"), "clients")
	if !f.is(people("one", ourKey, 771, 771), "clients") || !f.is(people("some", ourKey, 771, 800), "clients") {
		f.Error("a part is no new version")
	}
	f.overlaps(mixed("after"), "clients")
	f.is(people("most", ourKey, 300, 800), "clients")
	f.is(people("grown", ourKey, 300, 1200), "clients")
}

// printOf returns the fingerprint of a file.
func printOf(file string) ledger.Fingerprint {
	mac := sha256.Sum256([]byte(file))
	f, err := ledger.NewFingerprint(mac[:])
	if err != nil {
		panic(err) // it has 32 bytes
	}
	return f
}

// enter gives data a budget.
func (f *fixture) enter(name string, id ledger.Identity, epsilon float64) {
	f.Helper()
	if _, err := f.Init(f.ctx, initOf(name, id, epsilon)); err != nil {
		f.Fatalf("enter %s: %v", name, err)
	}
}

func initOf(name string, id ledger.Identity, epsilon float64) ledger.InitRequest {
	return ledger.InitRequest{
		Dataset: id.Fingerprint, Name: name, Budget: ledger.Budget{Epsilon: epsilon},
		Sketch: id.Sketch, KeyID: id.KeyID, KeyPath: id.KeyPath,
	}
}

// is resolves data, which should be a data set, and returns whether it is a new version.
func (f *fixture) is(id ledger.Identity, want string) bool {
	f.Helper()
	got, err := f.Resolve(f.ctx, ledger.ResolveRequest{Identity: id})
	if err != nil || got.Name != want {
		f.Fatalf("it is %q, want %q: %v", got.Name, want, err)
	}
	return got.Version
}

// overlaps resolves data, which should share records with some data sets.
func (f *fixture) overlaps(id ledger.Identity, with ...string) *ledger.OverlapError {
	f.Helper()
	_, err := f.Resolve(f.ctx, ledger.ResolveRequest{Identity: id})
	e := wants[*ledger.OverlapError](f, err)
	var names []string
	for _, s := range e.With {
		names = append(names, s.Name)
	}
	if strings.Join(names, " ") != strings.Join(with, " ") {
		f.Errorf("it shares records with %q, want %q", names, with)
	}
	return e
}

// charge reserves for a data set by name or fingerprint.
func (f *fixture) charge(dataset, key string, n int64) (ledger.Charge, error) {
	f.Helper()
	r := request(key, n)
	r.Dataset = dataset
	return f.Reserve(f.ctx, r)
}

// left is what is left of the global budget of a data set.
func (f *fixture) left(dataset string, want float64) {
	f.Helper()
	d, err := f.Balance(f.ctx, dataset)
	if err != nil || d.Budgets[0].Left != want {
		f.Errorf("of %s %v is left, want %v: %v", dataset, d.Budgets, want, err)
	}
}

func (f *fixture) sound() {
	f.Helper()
	if _, err := f.Check(f.ctx, ledger.CheckOptions{}); err != nil {
		f.Error(err)
	}
}

func recognised(f *fixture) {
	f.enter("clients", people("a.csv", ourKey, 1, 5000), 10)
	for name, id := range map[string]ledger.Identity{
		"saved anew":    people("crlf.csv", ourKey, 1, 5000),
		"a row more":    people("more.csv", ourKey, 1, 5001),
		"a part of it":  people("part.csv", ourKey, 1, 700),
		"twice as many": people("twice.csv", ourKey, 1, 9000),
	} {
		if !f.is(id, "clients") {
			f.Errorf("%s is not a new version", name)
		}
		if f.is(id, "clients") {
			f.Errorf("%s is a new version twice", name)
		}
		wants[*ledger.ExistsError](f, second(f.Init(f.ctx, initOf("", id, 10))))
	}
	wants[*ledger.OverlapError](f, second(f.Init(f.ctx, initOf("", people("again.csv", ourKey, 2, 5000), 10))))
	if _, err := f.charge("clients", "k", 9); err != nil {
		f.Fatal(err)
	}
	wants[*ledger.RefusedError](f, second(f.charge(string(people("part.csv", ourKey, 1, 700).Fingerprint), "l", 2)))
	wants[*ledger.UnknownDatasetError](f, second(f.Resolve(f.ctx, ledger.ResolveRequest{Identity: people("b.csv", ourKey, 10001, 12000)})))
	d, err := f.Show(f.ctx, "clients")
	expect.NoError(f, err)
	expect.Len(f, "d.Versions", d.Versions, 5)
	expect.Equal(f, "d.Versions[4].Recognised", d.Versions[4].Recognised, true)
	f.sound()
}

func partly(f *fixture) {
	f.enter("clients", people("a.csv", ourKey, 1, 2000), 10)
	mixed := people("mixed.csv", ourKey, 1801, 4000)
	if e := f.overlaps(mixed, "clients"); !strings.Contains(e.Error(), `sotto ledger link "clients"`) || !strings.Contains(e.Error(), "--new-people") {
		f.Errorf("%v", e)
	}
	wants[*ledger.OverlapError](f, second(f.Init(f.ctx, initOf("mixed", mixed, 10))))
	wants[*ledger.InputError](f, second(f.Link(f.ctx, ledger.LinkRequest{Identity: mixed, Datasets: []string{"clients"}})))
	if _, err := f.Link(f.ctx, ledger.LinkRequest{Identity: mixed, Datasets: []string{"clients"}, Reason: "the same shop"}); err != nil {
		f.Fatal(err)
	}
	f.is(mixed, "clients")
	f.is(people("more.csv", ourKey, 1801, 4005), "clients")
	d, err := f.Show(f.ctx, "clients")
	expect.NoError(f, err)
	expect.Len(f, "d.Versions", d.Versions, 3)
	expect.Equal(f, "d.Versions[1].Reason", d.Versions[1].Reason, "the same shop")
	f.sound()
}

func several(f *fixture) {
	f.enter("north", people("n.csv", ourKey, 1, 2000), 10)
	f.enter("south", people("s.csv", ourKey, 3001, 5000), 4)
	both := people("both.csv", ourKey, 1501, 3500)
	f.overlaps(both, "north", "south")
	wants[*ledger.OverlapError](f, second(f.Link(f.ctx, ledger.LinkRequest{Identity: both, Datasets: []string{"north"}, Reason: "x"})))
	if _, err := f.Link(f.ctx, ledger.LinkRequest{Identity: both, Datasets: []string{"north", "south"}, Name: "middle", Reason: "x"}); err != nil {
		f.Fatal(err)
	}
	f.is(both, "middle")
	if !f.is(people("more.csv", ourKey, 1501, 3510), "middle") {
		f.Error("a row more is not a version")
	}
	c, err := f.charge("middle", "a", 3)
	if err != nil || strings.Join(c.Budgets, " ") != "global north:global south:global" {
		f.Fatalf("%+v, %v", c, err)
	}
	f.left("north", 7)
	f.left("south", 1)
	e := wants[*ledger.RefusedError](f, second(f.charge("middle", "b", 2)))
	south, err := f.Balance(f.ctx, "south")
	expect.NoError(f, err)
	expect.Equal(f, "e.Limit", e.Limit, 4)
	if e.Dataset == south.Fingerprint {
		expect.Equal(f, "e.Needed", e.Needed, 5)
	}
	f.left("north", 7)
	if _, err := f.charge("north", "b", 7); err != nil {
		f.Fatal(err)
	}
	if e := wants[*ledger.RefusedError](f, second(f.charge("middle", "c", 1))); e.Limit != 10 {
		f.Errorf("%+v", e)
	}
	f.left("south", 1)
	f.sound()
}

func newPeople(f *fixture) {
	f.enter("clients", people("a.csv", ourKey, 1, 2000), 10)
	others := people("b.csv", ourKey, 1901, 3900)
	r := initOf("patients", others, 5)
	r.NewPeople = true
	wants[*ledger.InputError](f, second(f.Init(f.ctx, r)))
	r.Reason, r.Key = "another country", "k"
	for range 2 { // the second changes nothing
		if _, err := f.Init(f.ctx, r); err != nil {
			f.Fatal(err)
		}
	}
	f.is(others, "patients")
	f.is(people("more.csv", ourKey, 1901, 3901), "patients")
	f.is(people("a2.csv", ourKey, 1, 2001), "clients")
	d, err := f.Show(f.ctx, "patients")
	expect.NoError(f, err)
	expect.Len(f, "d.Links", d.Links, 1)
	expect.Equal(f, "d.Links[0].Kind", d.Links[0].Kind, "apart")
	expect.Equal(f, "d.Links[0].Name", d.Links[0].Name, "clients")
	expect.Equal(f, "d.Links[0].Reason", d.Links[0].Reason, "another country")
	if _, err := f.charge("patients", "c", 5); err != nil {
		f.Fatal(err)
	}
	f.left("clients", 10)
	f.sound()
}

func wrongKey(f *fixture) {
	f.enter("clients", people("a.csv", ourKey, 1, 2000), 10)
	same := people("a.csv", otherKey, 1, 2000)
	for _, err := range []error{
		second(f.Resolve(f.ctx, ledger.ResolveRequest{Identity: same})),
		second(f.Init(f.ctx, initOf("again", same, 10))),
		second(f.Link(f.ctx, ledger.LinkRequest{Identity: same, Datasets: []string{"clients"}, Reason: "x"})),
	} {
		e := wants[*ledger.KeyIDError](f, err)
		for _, want := range []string{ourKey, otherKey, "the/key", "sotto ledger key export", "sotto ledger key import"} {
			if !strings.Contains(e.Error(), want) {
				f.Errorf("%v does not say %q", e, want)
			}
		}
	}
	forged := same
	forged.KeyID = ourKey
	wants[*ledger.InputError](f, second(f.Resolve(f.ctx, ledger.ResolveRequest{Identity: forged})))
	if id, err := f.KeyID(f.ctx); err != nil || id != ourKey {
		f.Errorf("%q, %v", id, err)
	}
}

func drift(f *fixture) {
	f.enter("clients", people("0.csv", ourKey, 1, 2000), 10)
	for i := 1; i <= 12; i++ {
		f.is(people(fmt.Sprint(i), ourKey, 1+400*i, 2000+400*i), "clients")
	}
	f.is(people("old.csv", ourKey, 1, 1999), "clients")
}

func learns(f *fixture) {
	id := people("a.csv", ourKey, 1, 2000)
	bare := ledger.Identity{Fingerprint: id.Fingerprint}
	f.enter("clients", bare, 10)
	if !f.is(id, "clients") || f.is(id, "clients") {
		f.Error("it is not learnt once")
	}
	f.is(people("b.csv", ourKey, 1, 2001), "clients")
	f.is(bare, "clients")
}

func turnsOut(f *fixture) {
	first, again := people("a.csv", ourKey, 1, 2000), people("crlf.csv", ourKey, 1, 2000)
	f.enter("clients", ledger.Identity{Fingerprint: first.Fingerprint}, 10)
	f.enter("clients again", ledger.Identity{Fingerprint: again.Fingerprint}, 10)
	if _, err := f.charge("clients again", "k", 6); err != nil {
		f.Fatal(err)
	}
	f.is(first, "clients")
	if e := f.overlaps(again, "clients"); e.Known != "clients again" {
		f.Errorf("%+v", e)
	}
	if _, err := f.Link(f.ctx, ledger.LinkRequest{Identity: again, Datasets: []string{"clients"}, Reason: "the same file"}); err != nil {
		f.Fatal(err)
	}
	f.is(again, "clients again")
	f.left("clients", 4)
	wants[*ledger.RefusedError](f, second(f.charge("clients", "l", 5)))
	wants[*ledger.RefusedError](f, second(f.charge("clients again", "l", 5)))
	f.sound()
}

func goesOn(f *fixture) {
	first, again := people("a.csv", ourKey, 1, 2000), people("crlf.csv", ourKey, 1, 2000)
	f.enter("clients", ledger.Identity{Fingerprint: first.Fingerprint}, 10)
	f.enter("clients again", ledger.Identity{Fingerprint: again.Fingerprint}, 10)
	if _, err := f.charge("clients again", "run 1", 6); err != nil {
		f.Fatal(err)
	}
	f.is(first, "clients")
	got, err := f.Resolve(f.ctx, ledger.ResolveRequest{Identity: again, Key: "run 1"})
	expect.NoError(f, err)
	expect.Equal(f, "got.Name", got.Name, "clients again")
	expect.Equal(f, "got.Version", got.Version, false)
	wants[*ledger.OverlapError](f, second(f.Resolve(f.ctx, ledger.ResolveRequest{Identity: again, Key: "run 2"})))
	wants[*ledger.OverlapError](f, second(f.Resolve(f.ctx, ledger.ResolveRequest{Identity: people("b.csv", ourKey, 1500, 3500), Key: "run 1"})))
}

func linkedLate(f *fixture) {
	x, y := people("x.csv", ourKey, 1, 2000), people("y.csv", ourKey, 5001, 7000)
	f.enter("x", x, 10)
	f.enter("y", y, 10)
	for _, c := range []struct {
		dataset string
		n       int64
	}{{"x", 6}, {"y", 7}} {
		if _, err := f.charge(c.dataset, "first "+c.dataset, c.n); err != nil {
			f.Fatal(err)
		}
	}
	if _, err := f.Link(f.ctx, ledger.LinkRequest{Identity: x, Datasets: []string{"y"}, Reason: "they moved"}); err != nil {
		f.Fatal(err)
	}
	f.left("x", 4)
	f.left("y", 0)
	wants[*ledger.RefusedError](f, second(f.charge("x", "k", 1)))
	if _, err := f.Grant(f.ctx, ledger.GrantRequest{Dataset: "y", Epsilon: 4, Reason: "x"}); err != nil {
		f.Fatal(err)
	}
	c, err := f.charge("x", "k", 1)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := f.Commit(f.ctx, ledger.CommitRequest{Charge: c.ID}); err != nil {
		f.Fatal(err)
	}
	f.left("y", 0)
	f.sound()
	reopened, err := f.handle(false).Show(f.ctx, "y")
	expect.NoError(f, err)
	expect.Len(f, "reopened.Charges", reopened.Charges, 3)
	expect.Equal(f, "reopened.Budgets[0].Left", reopened.Budgets[0].Left, 0)
}

func circle(f *fixture) {
	x, y := people("x.csv", ourKey, 1, 2000), people("y.csv", ourKey, 5001, 7000)
	f.enter("x", x, 10)
	f.enter("y", y, 10)
	for _, c := range []struct {
		from ledger.Identity
		to   string
		ok   bool
	}{{x, "x", false}, {x, "y", true}, {x, "y", false}, {y, "x", false}} {
		_, err := f.Link(f.ctx, ledger.LinkRequest{Identity: c.from, Datasets: []string{c.to}, Reason: "r"})
		if (err == nil) != c.ok {
			f.Errorf("toward %s: %v", c.to, err)
		}
	}
}

func ambiguous(f *fixture) {
	f.enter("x", people("x.csv", ourKey, 1, 2000), 10)
	r := initOf("y", people("y.csv", ourKey, 601, 2600), 10)
	r.NewPeople, r.Reason = true, "twins"
	if _, err := f.Init(f.ctx, r); err != nil {
		f.Fatal(err)
	}
	f.overlaps(people("z.csv", ourKey, 301, 2300), "x", "y")
}

// atOnce lets many, each with a connection and a copy of its own, be the first.
func atOnce(f *fixture) {
	const users = 8
	errs := make([]error, users)
	var wait sync.WaitGroup
	for i := range users {
		l := f.handle(false)
		wait.Go(func() {
			id := people(fmt.Sprint("copy ", i), ourKey, 1, 2000+i)
			p := &account.Account{
				Ledger: l, Dataset: id.Fingerprint, Sketch: id.Sketch, KeyID: id.KeyID, Adjacency: privacy.AddRemove, Unit: privacy.Record,
			}
			use := account.Use{Event: units(7), Run: "r", Key: fmt.Sprint("key ", i)}
			_, err := p.Reserve(f.ctx, use)
			if errors.As(err, new(*ledger.UnknownDatasetError)) {
				if _, err = p.Enter(f.ctx, account.First{Epsilon: 10, By: "a test", Key: fmt.Sprint("budget ", i)}); err == nil {
					_, err = p.Reserve(f.ctx, use)
				}
			}
			errs[i] = err
		})
	}
	wait.Wait()
	paid := 0
	for _, err := range errs {
		switch {
		case err == nil:
			paid++
		case !errors.Is(err, ledger.ErrBudget):
			f.Error(err)
		}
	}
	list, err := f.List(f.ctx)
	expect.NoError(f, err)
	expect.Equal(f, "paid", paid, 1)
	expect.Len(f, "list", list, 2)
	f.sound()
}
