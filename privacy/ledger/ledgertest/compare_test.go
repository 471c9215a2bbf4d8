package ledgertest

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

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
