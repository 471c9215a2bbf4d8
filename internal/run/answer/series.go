package answer

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/run/account"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// take pays for a question. Where budgets add up what single charges cost, answers are
// reserved many at once, as a series, and each takes its part: together they cost less, and
// what the plan says of so many answers is what the ledger charges. Elsewhere each is
// charged by itself.
func (s *Session) take(ctx context.Context, q *question, use account.Use, total int64) error {
	ask := total - int64(q.at)
	series, err := s.inSeries(ctx, total)
	if err != nil {
		return err
	}
	if !series {
		q.charge, err = s.pay(ctx, use)
		return err
	}
	// Others may use up a series between its reservation and the first draw, again and again
	// until the budget is spent.
	for try := 0; ; try++ {
		if err = s.draw(ctx, q, use); !errors.As(err, new(*ledger.NoSeriesError)) {
			return err
		}
		if drawn, err := s.newSeries(ctx, q, use, ask, try); drawn || err != nil {
			return err
		}
	}
}

// newSeries reserves a series that answers can be drawn from: the one that was planned for,
// else as many as are asked for, else fewer. Tries have charges of their own. It reports
// whether the question was paid for on the way.
func (s *Session) newSeries(ctx context.Context, q *question, use account.Use, ask int64, try int) (drawn bool, err error) {
	for _, n := range sizes(s.options.Plan.Answers, ask) {
		reserve := use
		reserve.Key, reserve.Run = fmt.Sprintf("series %d for %s", n, use.Key), fmt.Sprintf("%d answers together, for %s", n, use.Run)
		if try > 0 {
			reserve.Key = fmt.Sprintf("%s, try %d", reserve.Key, try+1)
		}
		if _, err = surely(ctx, func() (ledger.Charge, error) { return s.account.Series(ctx, reserve, n) }); err == nil {
			return false, nil
		}
		if !errors.Is(err, ledger.ErrBudget) {
			return false, err
		}
		// Somebody else may have reserved one in between.
		if again := s.draw(ctx, q, use); !errors.As(again, new(*ledger.NoSeriesError)) {
			return again == nil, again
		}
	}
	return false, err
}

// sizes are the series to try, the largest first.
func sizes(together, ask int64) []int64 {
	var out []int64
	if together > ask {
		out = append(out, together)
	}
	for n := ask; n > 0; n /= 2 {
		out = append(out, n)
	}
	return out
}

// draw takes a part of a series.
func (s *Session) draw(ctx context.Context, q *question, use account.Use) error {
	d, err := surely(ctx, func() (ledger.DrawResult, error) { return s.account.Draw(ctx, use) })
	if err == nil {
		q.charge, q.left = d.Charge, d.Left
	}
	return err
}

// inSeries reports whether answers are reserved many at once. How a budget composes never
// changes; that one is added is found by the next session.
func (s *Session) inSeries(ctx context.Context, total int64) (bool, error) {
	if max(total, s.options.Plan.Answers) <= 1 {
		return false, nil
	}
	s.mu.Lock()
	known := s.sums
	s.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	sums, err := s.account.Sums(ctx)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums = &sums
	return sums, nil
}

// drawn notes that an answer which took its part of a series was released, and ends the
// series with its last part.
func (s *Session) drawn(ctx context.Context, q *question, last ledger.CommitRequest, out private.Output) {
	if q.left == 0 {
		// If this fails the series stays open, with nothing left in it.
		_, _ = s.options.Env.Ledger.Commit(ctx, last)
	}
	s.report(env.Progress{Kind: env.Committed, Question: q.at + 1, Questions: q.of, Tokens: out.Steps(), Charge: q.charge.ID})
}

// measure reports why n more answers do not fit what series and budgets have left.
func (s *Session) measure(ctx context.Context, n, together int64) error {
	use := account.Use{Event: s.event, Run: "dry run", Key: "dry run"}
	series, err := s.inSeries(ctx, together)
	if err != nil {
		return err
	}
	if !series {
		return s.options.Env.Ledger.CanReserve(ctx, s.account.Request(use), n)
	}
	left, err := s.account.InSeries(ctx, use)
	if err != nil || left >= n {
		return err
	}
	if n -= left; n <= together {
		return s.options.Env.Ledger.CanReserve(ctx, s.account.SeriesRequest(use, n), 1)
	}
	return s.options.Env.Ledger.CanReserve(ctx, s.account.SeriesRequest(use, together), (n+together-1)/together)
}
