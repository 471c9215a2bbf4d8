package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// LedgerAddress is where the ledger is, by flag, variable or configuration.
func (p *Program) LedgerAddress() (string, error) {
	address, err := p.Places.LedgerAt()
	return address, ui.AsUsage(err)
}

// standing says what the global budget of a charge has spent, and for whom that holds. It
// comes after a release: a ledger that cannot be read now leaves it out.
func standing(ctx context.Context, address, charge string) string {
	if charge == "" {
		return ""
	}
	l, err := ledger.Open(ctx, address, ledger.Options{})
	if err != nil {
		return ""
	}
	defer l.Close()
	c, err := l.Charge(ctx, ledger.ChargeID(charge))
	if err != nil {
		return ""
	}
	d, err := l.Balance(ctx, string(c.Dataset))
	if err != nil || len(d.Budgets) == 0 {
		return ""
	}
	b := d.Budgets[0]
	return fmt.Sprintf("ε %s of %s spent at δ = %s; %s", ui.AtMost(b.Spent), ui.Whole(b.Epsilon), ui.Whole(b.Delta), b.Basis)
}

// Abridged is as much of a fingerprint as people need to distinguish data sets.
func Abridged(f ledger.Fingerprint) string { return string(f[:min(len(f), 24)]) + "…" }

// ExplainMissing adds the command that makes a ledger.
func ExplainMissing(err error, address string) error {
	if !errors.Is(err, ledger.ErrMissing) {
		return err
	}
	return fmt.Errorf("%w; to make one: sotto ledger init --ledger %s", err, config.Redact(address))
}
