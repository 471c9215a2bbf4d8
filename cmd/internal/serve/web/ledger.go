package web

import (
	"context"
	"sync"

	"github.com/sotto-dp/sotto/privacy/ledger"
)

// LedgerAt opens the ledger at an address when a page first needs it, and again only if that failed.
type LedgerAt struct {
	Address string

	mu   sync.Mutex
	open *ledger.Ledger
}

// Get is for [Options].
func (o *LedgerAt) Get(ctx context.Context) (Ledger, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		l, err := ledger.Open(ctx, o.Address, ledger.Options{})
		if err != nil {
			return nil, err
		}
		o.open = l
	}
	return o.open, nil
}

// Close closes the ledger, if it was opened.
func (o *LedgerAt) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		return nil
	}
	return o.open.Close()
}
