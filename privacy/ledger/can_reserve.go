package ledger

import (
	"context"
	"math"
)

// CanReserve returns nil if n charges like this one could be made now, one after the other,
// if nobody else charged anything; otherwise it returns the error of [Ledger.Reserve],
// where Needed of a *[RefusedError] is for all n together. It charges nothing and holds
// nothing back: anyone who reads data still reserves first. It ignores Run and Key of the
// request.
func (l *Ledger) CanReserve(ctx context.Context, req ReserveRequest, n int64) error {
	if n < 1 || n > math.MaxInt32 {
		return input("%d charges cannot be measured: ask about 1 to %d", n, math.MaxInt32)
	}
	if req.Event == nil {
		return input("the event is missing: give the worst case of the run")
	}
	req.Run, req.Key = "dry run", "dry run"
	r, err := req.record()
	if err != nil {
		return err
	}
	return l.read(ctx, func(s *state, at int64) error {
		d, err := s.find(req.Dataset)
		if err != nil {
			return err
		}
		if err := d.admitsReserve(r, at); err != nil {
			return s.refused(d, err)
		}
		return s.refused(d, s.judge(d, r, n, at, l.meter, &conclusion{}))
	})
}
