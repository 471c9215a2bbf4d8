package web

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

func (d *Dashboard) grantRoutes() []route {
	return []route{
		{"POST /grants/{id}/approve", store.Owner, d.approve},
		{"POST /grants/{id}/deny", store.Owner, d.deny},
		{"POST /grants/{id}/carry-out", store.Owner, d.carryOutAgain},
	}
}

// grantView is a request as anyone who looks may decide it.
type grantView struct {
	store.Grant
	// Mine: the reader owns the data set. Decided: and has approved.
	Mine, Decided bool
	// Others have to approve it: the reader asked for it.
	Others bool
}

func (d *Dashboard) grantViews(ctx context.Context, all []store.Grant, reader store.Account) ([]grantView, error) {
	views := make([]grantView, len(all))
	for i, g := range all {
		views[i] = grantView{Grant: g, Mine: reader.OwnerOf(g.Dataset), Decided: g.Of(reader.Name) != nil}
		if views[i].Mine && g.Account == reader.Name && g.State == store.GrantOpen {
			owners, err := d.owners(ctx, g.Dataset)
			if err != nil {
				return nil, err
			}
			views[i].Others = g.OthersDecide(owners)
		}
	}
	return views, nil
}

func (d *Dashboard) askGrant(v *visit) error {
	set, err := d.dataset(v.ctx(), v.PathValue("id"))
	if err != nil {
		return err
	}
	g := store.Grant{Dataset: string(set.Fingerprint), Name: set.Name, Budget: v.PostForm.Get("budget"), Reason: v.PostForm.Get("reason")}
	known := false
	for _, b := range grantable(set) {
		known = known || b.Name == g.Budget
	}
	if !known {
		return d.wrong(Refuse("the data set has no such budget that can be raised by an amount"))
	}
	for field, into := range map[string]*float64{"epsilon": &g.Epsilon, "delta": &g.Delta} {
		text := strings.TrimSpace(v.PostForm.Get(field))
		if text == "" {
			continue
		}
		if *into, err = strconv.ParseFloat(text, 64); err != nil {
			return d.wrong(Refuse("give ε and δ as numbers, such as 0.5 and 1e-7"))
		}
	}
	if _, err := d.Store.AskGrant(v.ctx(), v.account, g); err != nil {
		return d.wrong(ofStore(err))
	}
	v.redirect(place("data-sets", called(set)) + "?said=asked#requests")
	return nil
}

func (d *Dashboard) approve(v *visit) error {
	g, err := d.Store.Decide(v.ctx(), v.account.Name, v.PathValue("id"), true)
	if err != nil {
		return d.wrong(ofStore(err))
	}
	if g.State != store.GrantApproved {
		return d.decided(v, g, "approved")
	}
	return d.carryOut(v, g)
}

func (d *Dashboard) deny(v *visit) error {
	g, err := d.Store.Decide(v.ctx(), v.account.Name, v.PathValue("id"), false)
	if err != nil {
		return d.wrong(ofStore(err))
	}
	return d.decided(v, g, "denied")
}

func (d *Dashboard) decided(v *visit, g store.Grant, word string) error {
	v.redirect(place("data-sets", g.Dataset) + "?said=" + word + "#requests")
	return nil
}

// carryOutAgain is for a request that was approved while the ledger was out of reach.
func (d *Dashboard) carryOutAgain(v *visit) error {
	g, err := d.Store.Grant(v.ctx(), v.PathValue("id"))
	switch {
	case err != nil:
		return d.wrong(ofStore(err))
	case !v.account.OwnerOf(g.Dataset):
		return errForbidden
	case g.State != store.GrantApproved:
		return d.wrong(Refuse("only a request that was approved can be carried out"))
	}
	return d.carryOut(v, g)
}

// carryOut raises the budget in the ledger, which does it once for the key of the request: anyone who
// asks again, after a crash or at the same time, changes nothing more.
func (d *Dashboard) carryOut(v *visit, g store.Grant) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx()), time.Minute)
	defer cancel()
	l, err := d.Ledger(ctx)
	if err == nil {
		_, err = l.Grant(ctx, ledger.GrantRequest{Dataset: g.Dataset, Budget: g.Budget, Epsilon: g.Epsilon, Delta: g.Delta, Reason: g.Why(), Key: g.Key()})
	}
	note, word := "", "granted"
	if ui.Is[*ledger.InputError](err) || ui.Is[*ledger.UnknownDatasetError](err) {
		note, word, err = err.Error(), "refused", nil
	}
	if err != nil {
		d.Log.Error("a grant that was approved cannot be carried out", "request", g.ID, "error", err.Error())
		return &problem{503, "The request is approved, and the ledger could not be changed now. Carry it out later, from the data set's page: it counts once, however often you try."}
	}
	if err := d.Store.EndGrant(ctx, v.account.Actor(), g.ID, note); err != nil {
		return err
	}
	return d.decided(v, g, word)
}
