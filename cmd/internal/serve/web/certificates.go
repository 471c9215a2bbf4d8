package web

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

func (d *Dashboard) certificateRoutes() []route {
	return []route{
		{"GET /certificates", store.Viewer, d.certificatesPage},
		{"GET /certificates/{route}", store.Viewer, d.certificatePage},
		{"GET /certificates/{route}/report", store.Viewer, d.reportPage},
		{"GET /certificates/{route}/files/{name...}", store.Viewer, d.releasedFile},
	}
}

// certifiedRelease is a folder with a certificate, and what checking it found.
type certifiedRelease struct {
	// Route that serves it.
	Route   string
	Report  *certificate.Report // nil if it could not be checked
	Checked time.Time

	// dir, as it looked when it was checked.
	dir, state string
}

// OK reports whether the certificate holds.
func (r *certifiedRelease) OK() bool { return r.Report != nil && r.Report.OK }

// Words are the guarantee in plain sentences, the technical one first.
func (r *certifiedRelease) Words() []string {
	if !r.OK() || r.Report.Predicate == nil {
		return nil
	}
	p := r.Report.Predicate
	stated := func(e certificate.Epsilon) *privacy.Guarantee {
		return &privacy.Guarantee{Adjacency: p.Adjacency, Unit: p.Unit, Delta: p.Delta, Epsilon: privacy.Interval{Lower: e.Lower, Upper: e.Upper}, Accountant: e.Accountant}
	}
	if p.Drawn == nil { // what earlier versions state is of one draw alone
		return release.Words(*stated(p.Epsilon), nil)
	}
	return release.Words(*stated(p.Epsilon), stated(p.Drawn.Epsilon))
}

// Charge paid for it; "" if that is not known.
func (r *certifiedRelease) Charge() ledger.ChargeID {
	if !r.OK() || r.Report.Predicate == nil || r.Report.Predicate.Ledger == nil {
		return ""
	}
	return ledger.ChargeID(r.Report.Predicate.Ledger.Charge)
}

// certified is the folder that has a certificate: dir, or the first below it that has one.
func certified(dir string) string {
	if dir == "" {
		return ""
	}
	has := func(dir string) bool {
		info, err := os.Lstat(filepath.Join(dir, certificate.FileName))
		return err == nil && info.Mode().IsRegular()
	}
	if has(dir) {
		return dir
	}
	below, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range below {
		if at := filepath.Join(dir, e.Name()); e.IsDir() && has(at) {
			return at
		}
	}
	return ""
}

// releases are those of routes.
func (d *Dashboard) releases(ctx context.Context) (all []*certifiedRelease, err error) {
	routes, err := d.Store.Routes(ctx, true)
	for _, to := range routes {
		if r := d.released(to.Name, to.Spec.Release); r != nil {
			all = append(all, r)
		}
	}
	return all, err
}

// bought are releases by the charge that paid for them.
func (d *Dashboard) bought(ctx context.Context) (map[ledger.ChargeID]certifiedRelease, error) {
	all, err := d.releases(ctx)
	by := map[ledger.ChargeID]certifiedRelease{}
	for _, r := range slices.Backward(all) {
		if charge := r.Charge(); charge != "" {
			by[charge] = *r
		}
	}
	return by, err
}

func (d *Dashboard) certificatesPage(v *visit) error {
	all, err := d.releases(v.ctx())
	if err != nil {
		return err
	}
	v.render(200, "certificates", page{Title: "Certificates", Here: "/certificates", Data: all})
	return nil
}

// find finds the release that a request names.
func (d *Dashboard) find(v *visit) (*certifiedRelease, error) {
	all, err := d.releases(v.ctx())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(r *certifiedRelease) bool { return r.Route == v.PathValue("route") })
	if i < 0 {
		return nil, errNotFound
	}
	return all[i], nil
}

func (d *Dashboard) certificatePage(v *visit) error {
	r, err := d.find(v)
	if err != nil {
		return err
	}
	v.render(200, "certificate", page{Title: "Certificate of " + r.Route, Here: "/certificates", Data: r})
	return nil
}

var errDoesNotHold = &problem{http.StatusConflict, "The certificate does not hold, or cannot be checked: nothing of this release is handed out."}

// releasedFile hands out a file that a certificate covers, if its bytes are those that were
// signed, and the certificate itself, if it holds.
func (d *Dashboard) releasedFile(v *visit) error {
	r, err := d.find(v)
	if err != nil {
		return err
	}
	if !r.OK() {
		return errDoesNotHold
	}
	name := v.PathValue("name")
	data, err := r.file(name)
	if err != nil {
		return errNotFound
	}
	v.Header().Set("Content-Type", "application/octet-stream")
	v.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(filepath.Base(name)))
	_, _ = v.ResponseWriter.Write(data) // anyone who asked may be gone
	return nil
}

// reportPolicy is for a page that comes with a release: it has its style within it, and may do
// nothing at all.
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// reportPage shows the report of a release, as it was signed.
func (d *Dashboard) reportPage(v *visit) error {
	r, err := d.find(v)
	if err != nil {
		return err
	}
	if !r.OK() {
		return errDoesNotHold
	}
	data, err := r.file(release.ReportFile)
	if err != nil {
		return errNotFound
	}
	v.Header().Set("Content-Security-Policy", reportPolicy)
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = v.ResponseWriter.Write(data) // anyone who asked may be gone
	return nil
}

// Reported reports whether the release has a page for people who decide.
func (r *certifiedRelease) Reported() bool {
	return r.OK() && slices.ContainsFunc(r.Report.Subjects, func(s certificate.Subject) bool { return s.Name == release.ReportFile })
}

// file reads one of the release, within its folder. If its certificate does not hold there is none.
func (r *certifiedRelease) file(name string) ([]byte, error) {
	if !r.OK() {
		return nil, errDoesNotHold
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was read only
	if name != certificate.FileName || appearance(r.dir) != r.state {
		return r.Report.ReadFile(root.FS(), name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read only
	return bounded.Read(f, bounded.Large)
}
