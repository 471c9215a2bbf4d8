package ledger

import (
	"context"
	"fmt"
	"maps"

	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger/chain"
)

// DrawRequest takes one use out of a series, before it touches any data.
type DrawRequest struct {
	// Dataset is a fingerprint or the name of a data set; required.
	Dataset string
	// Event is the worst case of the use; required.
	Event privacy.Event
	// Labels of the series.
	Labels map[string]string
	// Run and Key are as in [ReserveRequest]; required.
	Run, Key string
}

// Drawn is a use that was taken out of a series.
type Drawn struct {
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

// Draw takes a use out of the oldest open series of a data set that has these labels and
// the event left, or fails with a [*NoSeriesError]. When it returns, the use is on disk and
// taken for good. It measures nothing: the series was charged in full when it was reserved,
// for its runs in any order and number (composition.go has the argument).
func (l *Ledger) Draw(ctx context.Context, req DrawRequest) (Drawn, error) {
	as := ReserveRequest{Dataset: req.Dataset, Event: req.Event, Proof: Proven, Labels: req.Labels, Run: req.Run, Key: req.Key}
	checked, err := as.record()
	if err != nil {
		return Drawn{}, err
	}
	r := drawRecord{Event: checked.Event, Run: req.Run, Key: req.Key, booked: checked.booked}
	var from *charge
	var out Drawn
	err = l.write(ctx, func(s *state, at int64) (*change, error) {
		d, err := s.find(req.Dataset)
		if err != nil {
			return nil, err
		}
		used, err := s.replay(d.fingerprint, &r)
		if err != nil {
			return nil, err
		}
		if used != nil {
			from = used.charge
			return nil, nil
		}
		if from = d.series(req.Labels, r.booked.terms); from == nil {
			return nil, &NoSeriesError{req.Event}
		}
		drawn := r
		drawn.Charge = from.ID
		return &change{subject: d.fingerprint, record: &drawn}, nil
	}, func(s *state, row *chain.Row) {
		out = Drawn{Charge: from.clone(), Left: from.left(r.booked.terms), Existed: row == nil}
	})
	return out, err
}

// InSeries returns the number of times an event can be drawn from the open series of a data
// set with these labels.
func (l *Ledger) InSeries(ctx context.Context, req DrawRequest) (int64, error) {
	b, err := newChargedEvent(req.Event)
	if err != nil {
		return 0, err
	}
	var n int64
	err = l.read(ctx, func(s *state, at int64) error {
		d, err := s.find(req.Dataset)
		if err != nil {
			return err
		}
		for _, c := range d.charges {
			if c.Dataset == d.fingerprint && c.opens(req.Labels, b.terms) {
				n += c.left(b.terms)
			}
		}
		return nil
	})
	return n, err
}

// series returns the oldest charge that terms can be drawn from, or nil.
func (d *dataset) series(labels map[string]string, terms []privacy.Term) *charge {
	for _, c := range d.charges {
		if c.Dataset == d.fingerprint && c.opens(labels, terms) {
			return c
		}
	}
	return nil
}

// opens reports whether a charge is an open series with these labels and terms left.
func (c *charge) opens(labels map[string]string, terms []privacy.Term) bool {
	return c.State == Reserved && maps.Equal(c.Labels, labels) && c.remains(terms)
}

// remains reports whether terms can be drawn from a series.
func (c *charge) remains(terms []privacy.Term) bool { return c.Series && c.left(terms) > 0 }

// left returns the number of times terms can be drawn from a series.
func (c *charge) left(terms []privacy.Term) int64 {
	least := int64(-1)
	for _, t := range terms {
		n := int64(0)
		for _, have := range c.booked.terms {
			if key := t.Event.String(); have.Event.String() == key {
				n = (have.N - c.drawn[key].N) / t.N
			}
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}

// draw takes a use out of a series.
func (c *charge) draw(b *drawRecord) {
	c.drawn.add(b.booked.terms, 1)
	c.Drawn++
}
