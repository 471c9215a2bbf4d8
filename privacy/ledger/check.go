package ledger

import (
	"context"

	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// Checkpoint fixes the ledger up to one row; see [Ledger.Checkpoint].
type Checkpoint = chain.Checkpoint

// ParseCheckpoint reads a printed checkpoint.
func ParseCheckpoint(s string) (Checkpoint, error) { return chain.ParseCheckpoint(s) }

// Checkpoint returns the current end of the ledger. Printed, and kept where the ledger's
// writers cannot change it, it lets [Ledger.Check] detect later whether anything up to here
// was changed or removed.
func (l *Ledger) Checkpoint(ctx context.Context) (Checkpoint, error) {
	var c Checkpoint
	err := l.read(ctx, func(s *state, at int64) error {
		c = Checkpoint{Log: s.log, Head: s.rows.Head()}
		return nil
	})
	return c, err
}

// CheckOptions of [Ledger.Check].
type CheckOptions struct {
	// Checkpoints that the ledger must agree with. Without any, only changes that
	// left the chain broken are found.
	Checkpoints []Checkpoint
}

// Report summarises what [Ledger.Check] verified.
type Report struct {
	// Checkpoint is the end of the ledger that was checked.
	Checkpoint Checkpoint `json:"checkpoint"`
	Rows       int64      `json:"rows"`
	Charges    int        `json:"charges"`
	Datasets   []Dataset  `json:"datasets"`
}

// Check reads the whole ledger again, from its first row, and verifies that
//
//   - the rows are linked without a gap, and end where the head says;
//   - the ledger agrees with the given checkpoints, and with what this process
//     read of it before;
//   - every row is one that could be written where it stands: known form, valid
//     budgets, keys used once, charges that go from reserved to committed or
//     forfeited once;
//   - no budget is overspent: its charges, measured from scratch, cost at most
//     the largest allowance it ever had, within 0.1 % (unless it was added after
//     them).
//
// It fails with a [*TamperedError] that names the first bad row, or an
// [*OverspentError].
func (l *Ledger) Check(ctx context.Context, opt CheckOptions) (Report, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	if err := l.acquire(ctx); err != nil {
		return Report{}, err
	}
	defer l.release()
	var s *state
	err := l.store.View(ctx, func(r chain.Reader) error {
		s = newState()
		return l.verify(s, r, opt.Checkpoints)
	})
	if err != nil {
		return Report{}, err
	}
	report := Report{
		Checkpoint: Checkpoint{Log: s.log, Head: s.rows.Head()},
		Rows:       s.rows.Head().Count,
		Charges:    len(s.charges),
	}
	for _, d := range s.order {
		view, err := s.view(d, l.meter, l.now(s))
		if err != nil {
			return report, err
		}
		report.Datasets = append(report.Datasets, view)
		for _, a := range d.accounts {
			spent, over, err := s.overspent(d, a, l.meter)
			if err != nil {
				return report, err
			}
			if over {
				return report, &OverspentError{d.fingerprint, a.Name, a.max.epsilon, Epsilon(spent)}
			}
		}
	}
	return report, nil
}

// verify folds all rows into s and compares them with the known checkpoints.
func (l *Ledger) verify(s *state, r chain.Reader, checkpoints []Checkpoint) error {
	if seen := l.state.rows.Head(); seen.Count > 0 {
		checkpoints = append([]Checkpoint{{Log: l.state.log, Head: seen}}, checkpoints...)
	}
	for row, err := range r.Rows(0) {
		if err != nil {
			return err
		}
		if err := s.apply(row); err != nil {
			return err
		}
		for _, c := range checkpoints {
			if err := c.Compare(row); err != nil {
				return err
			}
		}
	}
	head, err := r.Head()
	if err != nil {
		return err
	}
	if err := s.rows.End(head); err != nil {
		return err
	}
	for _, c := range checkpoints {
		if err := c.CompareEnd(head); err != nil {
			return err
		}
	}
	return nil
}
