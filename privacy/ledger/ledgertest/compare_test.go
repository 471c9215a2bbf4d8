package ledgertest

import (
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/sys/expect"
)

func compared(f *fixture) {
	f.enter("north", people("n.csv", ourKey, 1, 2000), 10)
	f.enter("south", people("s.csv", ourKey, 3001, 5000), 4)
	f.enter("few", people("f.csv", ourKey, 6001, 6500), 4)
	before := f.head()
	for _, tt := range []struct {
		id     ledger.Identity
		is     ledger.Fingerprint
		shares string
	}{
		{people("n.csv", ourKey, 1, 2000), printOf("n.csv " + ourKey), "north"},
		{people("more.csv", ourKey, 1, 2001), "", "north"},
		{people("both.csv", ourKey, 1501, 3100), "", "north south"},
		{people("guess.csv", ourKey, 6007, 6007), "", "few"},
		{people("others.csv", ourKey, 9001, 9900), "", ""},
		{ledger.Identity{Fingerprint: printOf("of another program")}, "", ""},
	} {
		c, err := f.Compare(f.ctx, tt.id)
		var names []string
		for _, s := range c.Shares {
			names = append(names, s.Name)
		}
		at := expect.At(f, "%+v", tt)
		expect.NoError(at, err)
		expect.Equal(at, "c.Is", c.Is, tt.is)
		expect.Equal(at, "strings.Join(names, \" \")", strings.Join(names, " "), tt.shares)
	}
	wants[*ledger.KeyIDError](f, second(f.Compare(f.ctx, people("n.csv", otherKey, 1, 2000))))
	if f.head() != before {
		f.Error("to compare wrote into the ledger")
	}
}

// recorded: whatever the data shares with others, what is said of it is the same.
func recorded(f *fixture) {
	f.enter("north", people("n.csv", ourKey, 1, 2000), 10)
	f.enter("south", people("s.csv", ourKey, 3001, 5000), 4)
	before := f.head()
	var said []string
	for _, data := range []ledger.Identity{
		people("guess.csv", ourKey, 7, 7),
		people("guess.csv", ourKey, 3007, 3007),
		people("guess.csv", ourKey, 9007, 9007),
		people("guess.csv", ourKey, 1, 2000),
		people("guess.csv", ourKey, 1500, 3500),
		people("s.csv", ourKey, 3001, 5000),
		// The bytes are recorded, and are read as other rows now.
		people("n.csv", ourKey, 3001, 3002),
	} {
		_, err := f.Resolve(f.ctx, ledger.ResolveRequest{Identity: data, As: "north"})
		said = append(said, wants[*ledger.InputError](f, err).Error())
	}
	for _, text := range said {
		if text != said[0] {
			f.Errorf("%q, and %q of other data", text, said[0])
		}
	}
	for _, as := range []string{"north", string(printOf("n.csv " + ourKey))} {
		found, err := f.Resolve(f.ctx, ledger.ResolveRequest{Identity: people("n.csv", ourKey, 1, 2000), As: as})
		at := expect.At(f, "by %q", as)
		expect.NoError(at, err)
		expect.Equal(at, "found.Name", found.Name, "north")
		expect.Equal(at, "found.Version", found.Version, false)
	}
	wants[*ledger.InputError](f, second(f.Resolve(f.ctx, ledger.ResolveRequest{Identity: people("n.csv", ourKey, 1, 2000), As: "nobody"})))
	if f.head() != before {
		f.Error("something was learnt")
	}
}

func towardAndApart(f *fixture) {
	f.enter("north", people("n.csv", ourKey, 1, 2000), 10)
	f.enter("south", people("s.csv", ourKey, 3001, 5000), 4)
	both := people("both.csv", ourKey, 1501, 3500)
	ask := ledger.LinkRequest{Identity: both, Datasets: []string{"south"}, Name: "both", Reason: "x"}
	wants[*ledger.OverlapError](f, second(f.Link(f.ctx, ask)))
	ask.Apart = []string{"nobody"}
	wants[*ledger.UnknownDatasetError](f, second(f.Link(f.ctx, ask)))
	ask.Apart = []string{"north"}
	d, err := f.Link(f.ctx, ask)
	expect.NoError(f, err)
	expect.Equal(f, "d.Fingerprint", d.Fingerprint, both.Fingerprint)
	expect.Equal(f, "d.Budgets[0].Epsilon", d.Budgets[0].Epsilon, 4)
	f.is(both, "both")
	c, err := f.charge("both", "a", 3)
	if err != nil || fmt.Sprint(c.Budgets) != "[global south:global]" {
		f.Fatalf("%+v, %v", c, err)
	}
	f.left("north", 10)
	f.left("south", 1)
	again := ask
	again.Datasets, again.Apart = []string{"north"}, []string{"south"}
	wants[*ledger.InputError](f, second(f.Link(f.ctx, again)))
	f.sound()
}
