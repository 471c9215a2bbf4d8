package ledger_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// A data owner gives a data set a budget; runs reserve their worst case before
// they read it, and commit when they release.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	l, err := ledger.Open(ctx, filepath.Join(dir, "ledger.db"), ledger.Options{Create: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()

	// The fingerprint is computed where the data may be read.
	mac := hmac.New(sha256.New, []byte("a key that the owner keeps"))
	mac.Write([]byte("the content of the data set"))
	fingerprint, _ := ledger.NewFingerprint(mac.Sum(nil))

	_, err = l.Init(ctx, ledger.InitRequest{
		Dataset: fingerprint, Name: "tickets", Budget: ledger.Budget{Epsilon: 4, Delta: 1e-6},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := ledger.ReserveRequest{
		Dataset: "tickets", Run: "synth", Key: "run 1", Proof: ledger.Proven,
		Adjacency: privacy.AddRemove, Unit: privacy.Record,
		Event: privacy.Repeat{N: 100, Event: privacy.Poisson{Q: 20. / 30000, Event: privacy.Gaussian{Sigma: 0.51}}},
	}
	c, err := l.Reserve(ctx, run)
	if err != nil {
		fmt.Println(err)
		return
	}
	// … only now read the data, and release the result …
	if c, err = l.Commit(ctx, ledger.CommitRequest{Charge: c.ID}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.State, c.Event)

	run.Key = "run 2"
	run.Event = privacy.Gaussian{Sigma: 1}
	_, err = l.Reserve(ctx, run)
	var refused *ledger.RefusedError
	if errors.As(err, &refused) {
		fmt.Printf("refused by the %s budget: ε would be %.2f of %g\n", refused.Budget, refused.Needed, refused.Limit)
	}
	// Output:
	// committed repeat(100, poisson(1/1500, gaussian(0.51)))
	// refused by the global budget: ε would be 7.64 of 4
}
