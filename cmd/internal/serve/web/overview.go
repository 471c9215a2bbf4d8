package web

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// maxShown is how many requests a page shows at most.
const maxShown = 200

func (d *Dashboard) overviewRoutes() []route {
	return []route{{"GET /{$}", store.Viewer, d.overview}}
}

type overviewData struct {
	Datasets []ledger.Dataset
	// Waiting are requests for budget that are open, of which the reader may decide Mine.
	Waiting []store.Grant
	Mine    int
	Routes  []store.Route
	Keys    int
}

// overview shows each data set by itself: budgets of several do not add up.
func (d *Dashboard) overview(v *visit) (err error) {
	var data overviewData
	if data.Datasets, err = d.datasets(v.ctx()); err != nil {
		return err
	}
	if data.Waiting, err = d.waiting(v.ctx()); err != nil {
		return err
	}
	for _, g := range data.Waiting {
		if v.account.OwnerOf(g.Dataset) {
			data.Mine++
		}
	}
	if data.Routes, err = d.Store.Routes(v.ctx(), true); err != nil {
		return err
	}
	ring, err := d.Store.Ring(v.ctx())
	if err != nil {
		return err
	}
	data.Keys = ring.Count()
	v.render(200, "overview", page{Title: "Overview", Here: "/", Data: data})
	return nil
}

// datasets lists those of the ledger; none if there is no ledger yet.
func (d *Dashboard) datasets(ctx context.Context) ([]ledger.Dataset, error) {
	l, err := d.Ledger(ctx)
	if errors.Is(err, ledger.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l.List(ctx)
}

// waiting are requests that are not carried out yet.
func (d *Dashboard) waiting(ctx context.Context) (open []store.Grant, err error) {
	all, err := d.Store.Grants(ctx, "", maxShown)
	for _, g := range all {
		if g.State == store.GrantOpen || g.State == store.GrantApproved {
			open = append(open, g)
		}
	}
	return open, err
}
