package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

func (d *Dashboard) datasetRoutes() []route {
	return []route{
		{"GET /data-sets", store.Viewer, d.datasetsPage},
		{"GET /data-sets/{id}", store.Viewer, d.datasetPage},
		{"POST /data-sets/{id}/grants", store.Operator, d.askGrant},
	}
}

func (d *Dashboard) datasetsPage(v *visit) error {
	sets, err := d.datasets(v.ctx())
	if err != nil {
		return err
	}
	v.render(200, "datasets", page{Title: "Data sets", Here: "/data-sets", Data: sets})
	return nil
}

// dataset finds one by its name or fingerprint.
func (d *Dashboard) dataset(ctx context.Context, id string) (ledger.Dataset, error) {
	l, err := d.Ledger(ctx)
	if errors.Is(err, ledger.ErrMissing) {
		return ledger.Dataset{}, errNotFound
	}
	if err != nil {
		return ledger.Dataset{}, err
	}
	set, err := l.Show(ctx, id)
	if ui.Is[*ledger.UnknownDatasetError](err) {
		return ledger.Dataset{}, errNotFound
	}
	return set, err
}

type datasetData struct {
	ledger.Dataset
	Figure  template.HTML
	Charges []ledger.Charge // the newest first
	Grants  []grantView
	// Budgets that can be granted here, and how many of Owners have to approve.
	Grantable []ledger.Balance
	Needed    int
	Owners    []string
	Bought    map[ledger.ChargeID]certifiedRelease
}

func (d *Dashboard) datasetPage(v *visit) error {
	set, err := d.dataset(v.ctx(), v.PathValue("id"))
	if err != nil {
		return err
	}
	data := datasetData{Dataset: set, Charges: slices.Clone(set.Charges), Grantable: grantable(set)}
	slices.Reverse(data.Charges)
	if data.Figure, err = burnDown(set, d.Now()); err != nil {
		return err
	}
	if data.Needed, err = d.Store.Approvals(v.ctx(), string(set.Fingerprint)); err != nil {
		return err
	}
	if data.Owners, err = d.owners(v.ctx(), string(set.Fingerprint)); err != nil {
		return err
	}
	asked, err := d.Store.Grants(v.ctx(), string(set.Fingerprint), maxShown)
	if err != nil {
		return err
	}
	if data.Grants, err = d.grantViews(v.ctx(), asked, v.account); err != nil {
		return err
	}
	if data.Bought, err = d.bought(v.ctx()); err != nil {
		return err
	}
	v.render(200, "dataset", page{Title: called(set), Here: "/data-sets", Data: data})
	return nil
}

// owners are the accounts that decide about a data set's budgets.
func (d *Dashboard) owners(ctx context.Context, dataset string) (names []string, err error) {
	all, err := d.Store.Accounts(ctx)
	for _, a := range all {
		if a.Disabled == nil && a.OwnerOf(dataset) {
			names = append(names, a.Name)
		}
	}
	return names, err
}

// called is what people call a data set.
func called(set ledger.Dataset) string { return cmp.Or(set.Name, string(set.Fingerprint)) }

// grantable are the data set's own budgets.
func grantable(set ledger.Dataset) (own []ledger.Balance) {
	for _, b := range set.Budgets {
		if !strings.Contains(b.Name, ":") {
			own = append(own, b)
		}
	}
	return own
}

// burnDown draws what the global budget allowed and what was spent of it, from the beginning until
// now. It is empty where charges have no fixed costs that add up, or there are none.
func burnDown(set ledger.Dataset, now time.Time) (template.HTML, error) {
	if len(set.Budgets) == 0 || set.Budgets[0].Composition != ledger.Sums || len(set.Charges) == 0 {
		return "", nil
	}
	span, unit := now.Sub(set.Created), 24*time.Hour
	name := "days"
	switch {
	case span < 2*time.Hour:
		unit, name = time.Minute, "minutes"
	case span < 3*24*time.Hour:
		unit, name = time.Hour, "hours"
	}
	at := func(t time.Time) float64 { return max(0, float64(t.Sub(set.Created))/float64(unit)) }
	end := max(at(now), 1e-3)
	spent, allowed := steps{end: end}, steps{end: end}
	for _, c := range set.Changes {
		if c.Budget == ledger.Global {
			by := c.Epsilon
			if c.Kind == "revoke" {
				by = -by
			}
			allowed.add(at(c.Time), by)
		}
	}
	for _, c := range set.Charges {
		for _, cost := range c.Costs {
			if cost.Budget == ledger.Global {
				spent.add(at(c.Reserved), cost.Epsilon)
			}
		}
	}
	figure := plot.Figure{
		Title: fmt.Sprintf("ε spent of %s over time, beside its limit", called(set)),
		Panels: []plot.Panel{{
			X: plot.Axis{Label: name + " since " + set.Created.UTC().Format("2 January 2006")}, Y: plot.Axis{Label: "ε"},
			Lines: []plot.Line{{Name: "spent", Points: spent.line()}, {Name: "limit", Points: allowed.line()}},
		}},
	}
	var out strings.Builder
	if err := figure.WriteFragment(&out); err != nil {
		return "", err
	}
	return template.HTML(out.String()), nil // package plot escapes what it is given
}

// steps is a sum that changes at moments.
type steps struct {
	points []plot.Point
	sum    float64
	end    float64
}

func (s *steps) add(x, by float64) {
	// Lines continue to the right: what happens at once is a step of no width that can be seen.
	const sliver = 1e-6
	if n := len(s.points); n > 0 {
		x = max(x, s.points[n-1].X+s.end*sliver)
		s.points = append(s.points, plot.Point{X: x, Low: s.sum, Y: s.sum})
		x += s.end * sliver
	} else if x > 0 {
		s.points = append(s.points, plot.Point{}, plot.Point{X: x})
		x += s.end * sliver
	}
	s.sum += by
	s.points = append(s.points, plot.Point{X: x, Low: s.sum, Y: s.sum})
}

func (s *steps) line() []plot.Point {
	x := s.end
	if n := len(s.points); n > 0 {
		x = max(x, s.points[n-1].X*(1+1e-6)+1e-9)
	} else {
		s.points = append(s.points, plot.Point{})
	}
	return append(s.points, plot.Point{X: x, Low: s.sum, Y: s.sum})
}
