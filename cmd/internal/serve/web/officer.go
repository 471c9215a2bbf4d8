package web

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

func (d *Dashboard) officerRoutes() []route {
	return []route{{"GET /data-protection", store.Viewer, d.officerPage}}
}

// officerSet is a data set as a data-protection officer asks about it.
type officerSet struct {
	ledger.Dataset
	Name string
	// Meaning is what its whole allowance means in everyday words.
	Meaning []string
	// Releases are its charges, with what they bought and who can use it.
	Releases []officerRelease
	// Answering are routes that answer from its records.
	Answering []routeView
	Open      []store.Grant
	Owners    []string
}

type officerRelease struct {
	ledger.Charge
	// Release that it paid for; nil if none is known here. Served are routes that have it.
	Release *certifiedRelease
	Served  []routeView
}

func (d *Dashboard) officerPage(v *visit) error {
	sets, err := d.datasets(v.ctx())
	if err != nil {
		return err
	}
	all, err := d.releases(v.ctx())
	if err != nil {
		return err
	}
	routes, err := d.routeViews(v.ctx())
	if err != nil {
		return err
	}
	open, err := d.waiting(v.ctx())
	if err != nil {
		return err
	}
	var shown []officerSet
	for _, set := range sets {
		one, err := d.officerSet(v.ctx(), set, all, routes, open)
		if err != nil {
			return err
		}
		shown = append(shown, one)
	}
	grants, err := d.grantViews(v.ctx(), open, v.account)
	if err != nil {
		return err
	}
	v.render(200, "officer", page{Title: "For the data-protection officer", Here: "/data-protection", Data: struct {
		Sets []officerSet
		Open []grantView
		AsOf time.Time
	}{shown, grants, d.Now()}})
	return nil
}

// meaning is what a guarantee of all releases together means. The words are those of a release,
// without what is about its files.
func meaning(g privacy.Guarantee) (words []string) {
	for _, w := range release.Words(g, nil) {
		if !strings.HasPrefix(w, "Whatever is done with these files") {
			words = append(words, strings.ReplaceAll(w, "these files", "everything that is released"))
		}
	}
	return words
}

func (d *Dashboard) officerSet(ctx context.Context, set ledger.Dataset, all []*certifiedRelease, routes []routeView, open []store.Grant) (one officerSet, err error) {
	if set, err = d.dataset(ctx, string(set.Fingerprint)); err != nil {
		return one, err
	}
	one = officerSet{Dataset: set, Name: called(set)}
	if len(set.Budgets) > 0 {
		g := set.Budgets[0]
		allowed := privacy.Guarantee{Adjacency: g.Adjacency, Unit: g.Unit, Delta: g.Delta, Epsilon: privacy.Interval{Upper: g.Epsilon}}
		one.Meaning = meaning(allowed)
	}
	for _, c := range slices.Backward(set.Charges) {
		r := officerRelease{Charge: c}
		for _, to := range all {
			if to.Charge() != c.ID {
				continue
			}
			if r.Release == nil {
				r.Release = to
			}
			for _, route := range routes {
				if to.Route == route.Name {
					r.Served = append(r.Served, route)
				}
			}
		}
		one.Releases = append(one.Releases, r)
	}
	for _, route := range routes {
		if route.Active != nil && route.Active.Spec.Answers != nil && route.Active.Spec.Answers.Dataset == set.Name && set.Name != "" {
			one.Answering = append(one.Answering, route)
		}
	}
	for _, g := range open {
		if g.Dataset == string(set.Fingerprint) {
			one.Open = append(one.Open, g)
		}
	}
	one.Owners, err = d.owners(ctx, string(set.Fingerprint))
	return one, err
}
