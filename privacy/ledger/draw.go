package ledger

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger/internal/chain"
)

// DrawResult is a use that was taken out of a series.
type DrawResult struct {
	// Charge is the series.
	Charge Charge
	// Left is the number of times its event can still be drawn.
	Left int64
	// Existed is set when a retry found that the use was drawn already.
	Existed bool
}

// NoSeriesError means that no open series has the event left.
type NoSeriesError struct{ Event privacy.Event }

// Error explains what to do.
func (e *NoSeriesError) Error() string {
	return fmt.Sprintf("no open series has %s left: reserve one", e.Event)
}

// Draw takes a use out of the oldest open series of a data set that pays for it, or fails with
// a [*NoSeriesError]. The request is the one that would reserve the use by itself: a series pays
// for a use of the same data set, adjacency, unit and labels, whose event it has left, while
// the budgets that it was charged to are those that the use would be charged to now.
//
// When it returns, the use is on disk and taken for good. It measures nothing: the series was
// charged in full when it was reserved, for its runs in any order and number (composition.go
// has the argument).
func (l *Ledger) Draw(ctx context.Context, req ReserveRequest) (DrawResult, error) {
	r, err := req.draw()
	if err != nil {
		return DrawResult{}, err
	}
	var from *charge
	var out DrawResult
	err = l.write(ctx, func(s *state, at int64) (*change, error) {
		d, err := s.find(req.Dataset)
		if err != nil {
			return nil, err
		}
		used, err := s.replay(d.fingerprint, r)
		if err != nil {
			return nil, err
		}
		if used != nil {
			from = used.charge
			return nil, nil
		}
		open, err := d.series(r, at)
		if err != nil {
			return nil, err
		}
		if len(open) == 0 {
			return nil, &NoSeriesError{req.Event}
		}
		from = open[0]
		drawn := *r
		drawn.Charge = from.ID
		return &change{subject: d.fingerprint, record: &drawn}, nil
	}, func(s *state, row *chain.Row) {
		out = DrawResult{Charge: from.clone(), Left: from.left(r.booked.terms), Existed: row == nil}
	})
	return out, err
}

// InSeries returns the number of times a use can be drawn now. It ignores Run and Key of the
// request.
func (l *Ledger) InSeries(ctx context.Context, req ReserveRequest) (int64, error) {
	req.Run, req.Key = "dry run", "dry run"
	r, err := req.draw()
	if err != nil {
		return 0, err
	}
	var n int64
	err = l.read(ctx, func(s *state, at int64) error {
		d, err := s.find(req.Dataset)
		if err != nil {
			return err
		}
		open, err := d.series(r, at)
		for _, c := range open {
			n += c.left(r.booked.terms)
		}
		return err
	})
	return n, err
}

// draw checks a request to draw as one to reserve is checked.
func (req *ReserveRequest) draw() (*drawRecord, error) {
	if req.Series {
		return nil, input("a use is drawn out of a series, and is none itself: leave Series out")
	}
	r, err := req.record()
	if err != nil {
		return nil, err
	}
	return &drawRecord{Coverage: r.Coverage, Run: r.Run, Key: r.Key, booked: r.booked}, nil
}

// series returns the charges that a use can be drawn from, the oldest first. It fails for a
// use that could not be charged to the data set's budgets by itself.
func (d *dataset) series(use *drawRecord, at int64) (open []*charge, err error) {
	if err := d.accounts[0].sameNeighbours(use.Adjacency, use.Unit); err != nil {
		return nil, err
	}
	if _, err := d.applicable(use.Labels, at); err != nil {
		return nil, err
	}
	for _, c := range d.charges {
		if c.pays(d, &use.Coverage, use.booked.terms, at) == nil {
			open = append(open, c)
		}
	}
	return open, nil
}

// remains reports whether terms can be drawn from a series.
func (c *charge) remains(terms []privacy.Term) bool { return c.Series && c.left(terms) > 0 }

// left returns the number of times terms can be drawn from a series.
func (c *charge) left(terms []privacy.Term) int64 {
	fewest := int64(-1)
	for _, t := range terms {
		n := int64(0)
		for _, have := range c.booked.terms {
			if key := t.Event.String(); have.Event.String() == key {
				n = (have.N - c.drawn[key].N) / t.N
			}
		}
		if fewest < 0 || n < fewest {
			fewest = n
		}
	}
	return max(fewest, 0)
}

// draw takes a use out of a series.
func (c *charge) draw(b *drawRecord) {
	c.drawn.add(b.booked.terms, 1)
	c.Drawn++
}
