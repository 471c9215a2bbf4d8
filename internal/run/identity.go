package run

import (
	"context"
	"crypto/sha256"

	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// records are the data of runs on texts; nil if none are read.
type records struct{ data *record.Data }

func (r records) fingerprint() (sum [sha256.Size]byte, ok bool) {
	if r.data == nil {
		return sum, false
	}
	return r.data.Fingerprint(), true
}

func (r records) leftOut() int64 {
	if r.data == nil {
		return 0
	}
	return r.data.Problems().Count
}

// identify names what the ledger knows the records by, whatever file or query they are in.
func (r records) identify(_ context.Context, a *account.Account) (err error) {
	sum := r.data.Fingerprint()
	if a.Dataset, err = ledger.NewFingerprint(sum[:]); err != nil {
		return err
	}
	a.Sketch, err = r.data.Sketch()
	a.KeyID, a.KeyPath, a.Database = r.data.KeyID(), r.data.KeyPath(), r.data.Placed()
	return err
}

// identify reads all rows of a table, once for each state of a file. Rows that are
// elsewhere are a data set that their owner has named, and are not read here.
func (s *source) identify(ctx context.Context, a *account.Account) (err error) {
	if s.known != "" {
		a.Dataset, a.Database = s.known, true
		return nil
	}
	if a.Dataset, err = ledger.NewFingerprint(s.sum[:]); err != nil {
		return err
	}
	a.Sketch, err = s.data.Sketch(ctx)
	a.KeyID, a.KeyPath, a.Database = s.data.KeyID(), s.data.KeyPath(), s.placed()
	return err
}
