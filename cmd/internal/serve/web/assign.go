package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// An upload is assigned once the owners of all data sets have said whether it has their people:
// of those that share records with it and of those that do not. If the others were not asked,
// that it is assigned at once, or waits, would tell an owner whether it holds records of data sets
// that they do not own.

// assignment is what the decisions about an upload come to.
type assignment struct {
	upload  store.Upload
	decided []store.UploadDecision
	// claimed and apart are data sets whose people it has, and those with other people that share
	// records with it.
	claimed, apart []string
	reasons        []string
}

// settle assigns an upload if everything is decided, and reports whether it did. If not, it
// waits, and nobody is told for whom.
func (d *Dashboard) settle(ctx context.Context, by store.Actor, id string) (bool, error) {
	a, err := d.decisions(ctx, id)
	if err != nil {
		return false, err
	}
	if a.upload.State == store.UploadAssigned {
		return true, nil
	}
	sets, err := d.datasets(ctx)
	if err != nil {
		return false, err
	}
	undecided := func(set ledger.Dataset) bool {
		return !slices.ContainsFunc(a.decided, func(of store.UploadDecision) bool { return of.Dataset == string(set.Fingerprint) })
	}
	waits := a.upload.State == store.UploadWaiting
	if waits && (slices.ContainsFunc(sets, undecided) || len(a.claimed) == 0 && a.upload.First == nil) {
		return false, nil
	}
	l, err := d.Ledger(ctx)
	if errors.Is(err, ledger.ErrMissing) {
		return false, Refuse("there is no ledger yet, which would keep the budget: sotto ledger init makes one, on the machine of the service")
	}
	if err != nil {
		return false, err
	}
	identity, err := d.identityOf(ctx, a.upload)
	if err != nil {
		return false, err
	}
	found, err := l.Compare(ctx, identity)
	if err != nil {
		return false, err
	}
	if waits {
		if ready, err := d.agree(ctx, l, &a, found); !ready || err != nil {
			return false, err
		}
		if err := d.Store.BeginAssigning(ctx, by, a.upload, a.decided); err != nil {
			return false, err
		}
	}
	return d.enter(ctx, l, by, a, identity, found)
}

// decisions reads an upload and what was said about it.
func (d *Dashboard) decisions(ctx context.Context, id string) (a assignment, err error) {
	if a.upload, err = d.Store.Upload(ctx, id); err != nil {
		return a, err
	}
	if a.decided, err = d.Store.UploadDecisions(ctx, id); err != nil {
		return a, err
	}
	for _, of := range a.decided {
		switch {
		case of.Claimed:
			a.claimed = append(a.claimed, of.Dataset)
		case of.Shared:
			a.apart = append(a.apart, of.Dataset)
		default:
			continue
		}
		a.reasons = append(a.reasons, fmt.Sprintf("%s (%s)", of.Reason, of.Account))
	}
	return a, nil
}

// agree reports whether the decisions settle what the ledger finds now.
func (d *Dashboard) agree(ctx context.Context, l Ledger, a *assignment, found ledger.Comparison) (bool, error) {
	for _, s := range found.Shares {
		if slices.Contains(a.claimed, string(s.Dataset)) || slices.Contains(a.apart, string(s.Dataset)) {
			continue
		}
		// Its owner was not shown that they share records, since they did not then.
		return false, d.Store.VoidDecision(ctx, a.upload.ID, string(s.Dataset))
	}
	if found.Is == "" {
		return true, nil
	}
	// It is in the ledger as it is. Who else its charges count toward is not for a copy of it to
	// change.
	covered, err := counted(ctx, l, string(found.Is))
	if err != nil {
		return false, err
	}
	return slices.Contains(a.claimed, string(found.Is)) && !slices.ContainsFunc(a.claimed, func(c string) bool { return !slices.Contains(covered, c) }), nil
}

// counted are a data set and all that its charges count toward.
func counted(ctx context.Context, l Ledger, dataset string) ([]string, error) {
	all := []string{dataset}
	for i := 0; i < len(all); i++ {
		set, err := l.Show(ctx, all[i])
		if err != nil {
			return nil, err
		}
		for _, link := range set.Links {
			if link.Kind == "toward" && !slices.Contains(all, string(link.Dataset)) {
				all = append(all, string(link.Dataset))
			}
		}
	}
	return all, nil
}

// enter tells the ledger, and then notes that the upload is assigned. After a failure in between it
// resumes where it was.
func (d *Dashboard) enter(ctx context.Context, l Ledger, by store.Actor, a assignment, id ledger.Identity, found ledger.Comparison) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	dataset, err := string(found.Is), error(nil)
	if dataset == "" {
		dataset, err = d.write(ctx, l, a, id, found)
	}
	if err == nil && !recordedIn(ctx, l, id, dataset) {
		_, err = l.Resolve(ctx, ledger.ResolveRequest{Identity: id})
	}
	if refusedFor(err) {
		why := err.Error()
		if ui.Is[*ledger.OverlapError](err) {
			why = "it shares records with a data set whose owner has not decided" // how many is for that owner
		}
		d.Log.Warn("an upload cannot be assigned as its owners decided", "upload", a.upload.ID, "error", why)
		if err := d.Store.EndAssigning(ctx, by, a.upload.ID, ""); err != nil {
			return false, err
		}
		return false, Refuse("the ledger refuses this: choose another name or budget for the new data set, or decide otherwise; the service's log says why")
	}
	if err != nil {
		d.Log.Error("an upload cannot be assigned now", "upload", a.upload.ID, "error", err.Error())
		return false, &problem{503, "It is decided, and the ledger could not be changed now. Carry it out later, from the upload's page: it counts once, however often you try."}
	}
	return true, d.Store.EndAssigning(ctx, by, a.upload.ID, dataset)
}

// recordedIn reports whether runs will find the upload in the ledger.
func recordedIn(ctx context.Context, l Ledger, id ledger.Identity, dataset string) bool {
	_, err := l.Resolve(ctx, ledger.ResolveRequest{Identity: id, As: dataset})
	return err == nil
}

// write makes the upload a data set of the ledger, or a version of one, and returns which.
func (d *Dashboard) write(ctx context.Context, l Ledger, a assignment, id ledger.Identity, found ledger.Comparison) (string, error) {
	what := fmt.Sprintf("upload %s by %s", a.upload.ID, a.upload.By)
	if len(a.claimed) == 0 {
		return d.first(ctx, l, a, id, found, what)
	}
	to, err := outermost(ctx, l, a.claimed)
	if err != nil {
		return "", err
	}
	req := ledger.LinkRequest{
		Identity: id, Datasets: to, Name: "upload-" + a.upload.ID, Reason: shortened(strings.Join(a.reasons, "; ") + "; " + what),
	}
	for _, s := range found.Shares {
		if slices.Contains(a.apart, string(s.Dataset)) {
			req.Apart = append(req.Apart, string(s.Dataset))
		}
	}
	var owners []string
	if len(req.Datasets)+len(req.Apart) > 1 { // a data set of its own
		for _, of := range a.decided {
			if of.Claimed {
				owners = append(owners, of.Account)
			}
		}
	}
	return d.owned(ctx, id, owners, func() (ledger.Dataset, error) { return l.Link(ctx, req) })
}

// first makes the upload a data set of people whom no other has.
func (d *Dashboard) first(ctx context.Context, l Ledger, a assignment, id ledger.Identity, found ledger.Comparison, what string) (string, error) {
	f := a.upload.First
	b := ledger.Budget{Epsilon: f.Epsilon, Delta: f.Delta}
	if f.Unit != "" {
		b.Unit = privacy.Unit("user:" + f.Unit)
	}
	reasons := append([]string{strings.TrimSpace(f.Reason + " (" + f.Account + ")")}, a.reasons...)
	req := ledger.InitRequest{
		Dataset: id.Fingerprint, Name: f.Name, Budget: b, Sketch: id.Sketch, KeyID: id.KeyID, KeyPath: id.KeyPath,
		NewPeople: len(found.Shares) > 0, Reason: shortened(strings.Join(reasons, "; ") + "; " + what), Key: "service-upload-" + a.upload.ID,
	}
	return d.owned(ctx, id, []string{f.Account}, func() (ledger.Dataset, error) { return l.Init(ctx, req) })
}

// owned enters a data set that some accounts own. They do before it is there, so that it is never
// without an owner, and no longer if the ledger refuses it.
func (d *Dashboard) owned(ctx context.Context, id ledger.Identity, accounts []string, enter func() (ledger.Dataset, error)) (string, error) {
	own := func(end bool) error {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(accounts))) {
			if err := d.Store.SetOwner(ctx, store.Account{Name: name}.Actor(), name, string(id.Fingerprint), end); err != nil {
				return err
			}
		}
		return nil
	}
	if err := own(false); err != nil {
		return "", err
	}
	set, err := enter()
	if refusedFor(err) {
		return "", errors.Join(err, own(true))
	}
	return string(set.Fingerprint), err
}

// refusedFor reports whether an error is about what was asked for, and comes again.
func refusedFor(err error) bool {
	return ui.Is[*ledger.InputError](err) || ui.Is[*ledger.ExistsError](err) || ui.Is[*ledger.OverlapError](err) || ui.Is[*ledger.MismatchError](err)
}

// outermost leaves out data sets that the charges of another of them count toward anyway.
func outermost(ctx context.Context, l Ledger, sets []string) (left []string, err error) {
	within := map[string]bool{}
	for _, one := range sets {
		all, err := counted(ctx, l, one)
		if err != nil {
			return nil, err
		}
		for _, other := range all[1:] {
			within[other] = true
		}
	}
	for _, one := range sets {
		if !within[one] {
			left = append(left, one)
		}
	}
	return left, nil
}

// shortened keeps a reason within what the ledger takes.
func shortened(s string) string {
	const maxBatch = 900
	if len(s) <= maxBatch {
		return s
	}
	return strings.ToValidUTF8(s[:maxBatch], "") + "…"
}
