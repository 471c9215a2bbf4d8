package run

import (
	"context"

	"github.com/sotto-dp/sotto/privacy/ledger/account"
)

// recognise adds to an account what the ledger knows the records by, whatever file or query
// they are in.
func (r *runner) recognise(_ context.Context, p *account.Account) (err error) {
	p.Sketch, err = r.Data.Sketch()
	p.KeyID, p.KeyPath, p.Database = r.Data.KeyID(), r.Data.KeyPath(), r.Data.Placed()
	return err
}

// recognise reads all rows of a table, once for each state of a file. Rows that are
// elsewhere are a data set that their owner has named, and are not read here.
func (s *source) recognise(ctx context.Context, p *account.Account) (err error) {
	if s.known != "" {
		p.Database = true
		return nil
	}
	p.Sketch, err = s.data.Sketch(ctx)
	p.KeyID, p.KeyPath, p.Database = s.data.KeyID(), s.data.KeyPath(), s.placed()
	return err
}
