package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/ui"
)

// uploadPattern is of the one form that is not read before it is served.
const uploadPattern = "POST /uploads"

func (d *Dashboard) uploadRoutes() []route {
	return []route{
		{uploadPattern, store.Operator, d.upload},
		{"POST /uploads/{id}/remove", store.Operator, d.removeUpload},
		{"GET /uploads/{id}", store.Owner, d.uploadPage},
		{"POST /uploads/{id}/decide", store.Owner, d.decideUpload},
		{"POST /uploads/{id}/carry-out", store.Owner, d.assignAgain},
	}
}

// maxUpload is more than a file of records that goes through a browser.
const maxUpload = 4 << 30

// upload takes a file as it comes, so that it is nowhere as it is. The form's first part is its
// token.
func (d *Dashboard) upload(v *visit) error {
	v.Body = http.MaxBytesReader(v.ResponseWriter, &uploadBody{v.Body, http.NewResponseController(v.ResponseWriter), d.uploadTime}, maxUpload)
	parts, err := v.MultipartReader()
	if err != nil {
		return errForged
	}
	token, err := parts.NextPart()
	if err != nil {
		return errForged
	}
	given, err := io.ReadAll(io.LimitReader(token, 1000))
	if err != nil || token.FormName() != "token" || !sameToken(string(given), v.formToken()) {
		return errForged
	}
	if d.Runs == nil {
		return errNoRuns
	}
	file, err := parts.NextPart()
	if err != nil || file.FormName() != "file" || file.FileName() == "" {
		return &problem{http.StatusBadRequest, "There is no file in the form: choose one."}
	}
	name := path.Base(strings.ReplaceAll(file.FileName(), "\\", "/"))
	u, err := d.Runs.Upload(v.ctx(), v.account.Actor(), name, file)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &problem{http.StatusRequestEntityTooLarge, "The file is too large to go through a browser: put it where the service can read it, and name it in its configuration ([source.NAME])."}
	case err != nil:
		return d.wrong(err)
	}
	v.redirect("/runs/new?said=uploaded&source=" + url.QueryEscape(UploadID(u)))
	return nil
}

// UploadID is how forms name an upload.
func UploadID(u store.Upload) string { return "upload:" + u.ID }

func (d *Dashboard) removeUpload(v *visit) error {
	if d.Runs == nil {
		return errNoRuns
	}
	if err := d.Runs.RemoveUpload(v.ctx(), v.account, v.PathValue("id")); err != nil {
		return d.wrong(err)
	}
	v.redirect("/runs/new?said=gone")
	return nil
}

// uploadData is an upload as an owner decides about it.
type uploadData struct {
	store.Upload
	// Sets are the reader's data sets. What it shares with others is not for them to see.
	Sets []uploadSet
	// Others decide too, and Ownerless are data sets for which nobody can.
	Others    bool
	Ownerless []string
	// Problem: the file cannot be read, or not yet.
	Problem string
	// Assigned is what people call the data set that it is now.
	Assigned string
}

// Bytes is how many there are.
func (u uploadData) Bytes() string { return ui.Thousands(u.Size) + " bytes" }

// uploadSet is a data set of the reader's, and what an upload shares with it.
type uploadSet struct {
	Fingerprint, Name string
	// Shares is in words; "" if they share nothing that can be seen. Is: the ledger has seen the
	// upload as this data set before.
	Shares string
	Is     bool
	// Said is what was decided for it; nil for nothing yet.
	Said *store.UploadDecision
}

func (d *Dashboard) uploadPage(v *visit) error {
	if d.Runs == nil {
		return errNoRuns
	}
	u, err := d.Store.Upload(v.ctx(), v.PathValue("id"))
	if err != nil || !u.SeenBy(v.account) {
		return errNotFound
	}
	data := uploadData{Upload: u}
	if u.State == store.UploadAssigned {
		if set, err := d.dataset(v.ctx(), u.Dataset); err == nil {
			data.Assigned = called(set)
		}
	} else if err := d.compared(v, &data); err != nil {
		data.Problem = d.unread(err)
	}
	v.render(http.StatusOK, "upload", page{Title: "Upload " + u.Name, Here: "/runs", Data: data})
	return nil
}

// unread is what an owner is told about a file that cannot be read.
func (d *Dashboard) unread(err error) string {
	if errors.Is(err, errReading) {
		return errReading.text
	}
	d.Log.Warn("an upload cannot be compared with the ledger", "error", err.Error())
	return "The file cannot be read, or not compared with the ledger: the service's log says why. Reject it, or try again."
}

// compared fills in what an upload shares with the reader's data sets, and with no other.
func (d *Dashboard) compared(v *visit, data *uploadData) error {
	sets, err := d.datasets(v.ctx())
	if err != nil {
		return err
	}
	decided, err := d.Store.UploadDecisions(v.ctx(), data.ID)
	if err != nil {
		return err
	}
	for _, set := range sets {
		f := string(set.Fingerprint)
		if !v.account.OwnerOf(f) {
			data.Others = true
			if owners, err := d.owners(v.ctx(), f); err != nil {
				return err
			} else if len(owners) == 0 {
				data.Ownerless = append(data.Ownerless, called(set))
			}
			continue
		}
		one := uploadSet{Fingerprint: f, Name: called(set)}
		if i := slices.IndexFunc(decided, func(of store.UploadDecision) bool { return of.Dataset == f }); i >= 0 {
			one.Said = &decided[i]
		}
		data.Sets = append(data.Sets, one)
	}
	if len(sets) == 0 {
		return nil
	}
	id, err := d.identityOf(v.ctx(), data.Upload)
	if err != nil {
		return err
	}
	l, err := d.Ledger(v.ctx())
	if err != nil {
		return err
	}
	found, err := l.Compare(v.ctx(), id)
	if err != nil {
		return err
	}
	for i := range data.Sets {
		one := &data.Sets[i]
		one.Is = string(found.Is) == one.Fingerprint
		for _, s := range found.Shares {
			if string(s.Dataset) == one.Fingerprint {
				one.Shares = s.Overlap.String()
			}
		}
	}
	return nil
}

// decideUpload takes what an owner says for the data sets that they own.
func (d *Dashboard) decideUpload(v *visit) error {
	if d.Runs == nil {
		return errNoRuns
	}
	u, err := d.Store.Upload(v.ctx(), v.PathValue("id"))
	if err != nil || !u.SeenBy(v.account) {
		return errNotFound
	}
	data := uploadData{Upload: u}
	if err := d.compared(v, &data); err != nil {
		return &problem{http.StatusServiceUnavailable, d.unread(err)}
	}
	var of []store.UploadDecision
	for _, set := range data.Sets {
		said := v.PostForm.Get("set-" + set.Fingerprint)
		shares := set.Shares != "" || set.Is
		switch {
		case said != "claim" && said != "other":
			return d.wrong(Refuse("say for each of your data sets whether the upload has people of it"))
		case shares && v.PostForm.Get("shown-"+set.Fingerprint) == "":
			return d.wrong(Refuse("the ledger finds something now that the page did not show: look at it again"))
		case set.Is && said == "other":
			return d.wrong(Refuse("the upload is a state of %s that the ledger has seen: it has its people", set.Name))
		}
		of = append(of, store.UploadDecision{Dataset: set.Fingerprint, Claimed: said == "claim", Shared: shares, Reason: v.PostForm.Get("reason")})
	}
	first, err := firstBudget(v.PostForm)
	if err != nil {
		return d.wrong(err)
	}
	if len(of) == 0 && first == nil {
		return d.wrong(Refuse("give it a first budget: a name, ε and δ"))
	}
	if err := d.Store.DecideUpload(v.ctx(), v.account.Name, u.ID, of, first); err != nil {
		return d.wrong(ofStore(err))
	}
	return d.settled(v, u)
}

// firstBudget reads that of a form; nil if it has none.
func firstBudget(form url.Values) (*store.FirstBudget, error) {
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	if field("name") == "" && field("epsilon") == "" && field("delta") == "" {
		return nil, nil
	}
	f := &store.FirstBudget{Name: field("name"), Unit: field("unit"), Reason: field("reason")}
	for name, into := range map[string]*float64{"epsilon": &f.Epsilon, "delta": &f.Delta} {
		var err error
		if *into, err = strconv.ParseFloat(field(name), 64); err != nil {
			return nil, Refuse("give ε and δ of the first budget as numbers, such as 1 and 1e-6")
		}
	}
	return f, nil
}

// settled assigns the upload if that was the last decision.
func (d *Dashboard) settled(v *visit, u store.Upload) error {
	done, err := d.settle(v.ctx(), v.account.Actor(), u.ID)
	if err != nil {
		return d.wrong(err)
	}
	if !done {
		v.redirect(place("uploads", u.ID) + "?said=decided")
		return nil
	}
	// Its page is for the owners of the data set that it is now.
	to := "/"
	if u, err := d.Store.Upload(v.ctx(), u.ID); err == nil && u.SeenBy(v.account) {
		to = place("uploads", u.ID)
	}
	v.redirect(to + "?said=assigned")
	return nil
}

// assignAgain is for an upload that was decided while the ledger was out of reach.
func (d *Dashboard) assignAgain(v *visit) error {
	u, err := d.Store.Upload(v.ctx(), v.PathValue("id"))
	switch {
	case err != nil || d.Runs == nil || !u.SeenBy(v.account):
		return errNotFound
	case u.State != store.UploadAssigning:
		return d.wrong(Refuse("only an upload that is decided can be assigned"))
	}
	return d.settled(v, u)
}

// toDecide are the uploads that wait for a decision of an account.
func (d *Dashboard) toDecide(ctx context.Context, reader store.Account) (mine []store.Upload, err error) {
	if d.Runs == nil || !reader.Role.May(store.Owner) {
		return nil, nil
	}
	all, err := d.Store.Uploads(ctx)
	if err != nil {
		return nil, err
	}
	sets, err := d.datasets(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range all {
		if u.State == store.UploadAssigned {
			continue
		}
		decided, err := d.Store.UploadDecisions(ctx, u.ID)
		if err != nil {
			return nil, err
		}
		open, claimed := 0, 0
		mineOpen := false
		for _, set := range sets {
			f := string(set.Fingerprint)
			switch i := slices.IndexFunc(decided, func(of store.UploadDecision) bool { return of.Dataset == f }); {
			case i < 0:
				open++
				mineOpen = mineOpen || reader.OwnerOf(f)
			case decided[i].Claimed:
				claimed++
			}
		}
		if mineOpen || u.State == store.UploadAssigning || open+claimed == 0 && u.First == nil {
			mine = append(mine, u)
		}
	}
	return mine, nil
}
