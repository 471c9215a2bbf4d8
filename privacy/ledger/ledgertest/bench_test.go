package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// bench measures a ledger that holds 10,000 charges, with the real accountants:
// reserving, asking for the balance, and opening it.
func bench(b *testing.B, backend backend) {
	const charges = 10_000
	for _, c := range []ledger.Composition{ledger.Sums, ledger.Adaptive} {
		for _, distinct := range []int{3, 100} {
			rows := benchRows(b, c, charges, distinct)
			b.Run(fmt.Sprintf("%s/distinct=%d", c, distinct), func(b *testing.B) {
				address := backend.New(b)
				store, err := backend.Open(b.Context(), address, options{Create: true})
				if err != nil {
					b.Fatal(err)
				}
				err = store.Update(b.Context(), func(tx chain.Tx) error {
					for _, r := range rows {
						if err := tx.Append(r); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				l, err := ledger.New(b.Context(), store, ledger.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer l.Close()
				benchOn(b, backend, address, l, distinct)
			})
		}
	}
}

func benchOn(b *testing.B, backend backend, address string, l *ledger.Ledger, distinct int) {
	// measure reports milliseconds; what before does is not measured.
	measure := func(name string, before, f func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				if err := before(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/op")
			b.ReportMetric(0, "ns/op")
		})
	}
	nothing := func() error { return nil }
	began, round := time.Now().UnixNano(), 0 // so that keys differ
	reserve := func() error {
		round++
		r := ledger.ReserveRequest{Dataset: "records", Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: benchEvent(round % distinct), Proof: ledger.Proven, Run: "r", Key: fmt.Sprint(began, round)}
		return second(l.Reserve(b.Context(), r))
	}
	balance := func() error { return second(l.Balance(b.Context(), "records")) }
	measure("reserve", nothing, reserve)
	measure("balance", nothing, balance)
	measure("balance-after-charge", reserve, balance)
	measure("open", nothing, func() error {
		store, err := backend.Open(b.Context(), address, options{})
		if err != nil {
			return err
		}
		l, err := ledger.New(b.Context(), store, ledger.Options{})
		if err != nil {
			return err
		}
		return l.Close()
	})
}

// benchEvent is one of many answers of up to 40 tokens each.
func benchEvent(i int) privacy.Event {
	return privacy.Repeat{N: 40, Event: privacy.Poisson{Q: 16. / 100_000, Event: privacy.Gaussian{Sigma: 1 + float64(i)/100}}}
}

// benchRows makes the rows of a ledger with many charges.
func benchRows(b *testing.B, c ledger.Composition, charges, distinct int) []chain.Row {
	b.Helper()
	store := &memory{log: newMemoryLog()}
	free := func(*ledger.Budget) (ledger.Meter, error) { return freeMeter{}, nil }
	l, err := ledger.New(b.Context(), store, ledger.Options{Create: true, Meter: free})
	if err != nil {
		b.Fatal(err)
	}
	_, err = l.Init(b.Context(), ledger.InitRequest{Dataset: fingerprint(1), Name: "records", Budget: ledger.Budget{Epsilon: 20, Delta: 1e-6, Composition: c}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range charges {
		r := ledger.ReserveRequest{Dataset: "records", Adjacency: privacy.AddRemove, Unit: privacy.Record, Event: benchEvent(i % distinct), Proof: ledger.Proven, Run: "r", Key: fmt.Sprint(i)}
		charge, err := l.Reserve(b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := l.Commit(b.Context(), ledger.CommitRequest{Charge: charge.ID}); err != nil {
			b.Fatal(err)
		}
	}
	return rowsOf(b, store)
}

// freeMeter is a meter to which everything is free.
type freeMeter struct{}

// Allows implements [ledger.Meter].
func (freeMeter) Allows([]privacy.Term, float64, float64) (float64, bool, error) { return 0, true, nil }

// Add implements [ledger.Meter].
func (freeMeter) Add([]privacy.Term) error { return nil }

// Remove implements [ledger.Meter].
func (freeMeter) Remove([]privacy.Term) error { return nil }

// Epsilon implements [ledger.Meter].
func (freeMeter) Epsilon(float64, float64) (float64, error) { return 0, nil }

// Price implements [ledger.Pricer]: all charges of the benchmark together take a tenth.
func (freeMeter) Price([]privacy.Term, float64, float64) (ledger.Cost, error) {
	return ledger.Cost{Epsilon: 2e-4, Delta: 1e-11}, nil
}
