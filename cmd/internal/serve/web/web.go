package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// Ledger is what the dashboard needs of a [ledger.Ledger].
type Ledger interface {
	List(ctx context.Context) ([]ledger.Dataset, error)
	Show(ctx context.Context, name string) (ledger.Dataset, error)
	Grant(ctx context.Context, req ledger.GrantRequest) (ledger.Dataset, error)
}

// Routes changes the service's routes, with the checks that the service makes.
type Routes interface {
	Upstreams() []string
	SetRoute(ctx context.Context, by store.Actor, name string, spec store.RouteSpec) (store.Route, error)
	UseRoute(ctx context.Context, by store.Actor, name string, version int64) (int64, error)
	RemoveRoute(ctx context.Context, by store.Actor, name string) error
}

// Options of a [Dashboard].
type Options struct {
	// Store, Ledger, Verify and Routes are required. Ledger opens the ledger, or hands out an open
	// one; [ledger.ErrMissing] means that there is none yet. Verify checks the certificate of a
	// folder.
	Store  *store.Store
	Ledger func(ctx context.Context) (Ledger, error)
	Verify func(dir string) (*certificate.Report, error)
	Routes Routes
	// Ask asks a route for people who try it out. Default: nobody does.
	Ask func(ctx context.Context, route, question string, examples bool) (string, error)
	// OIDC lets people of an organisation in, with OIDCSecret as the client's secret; nil for accounts
	// with links only. Without a Claim everyone the issuer knows is a viewer, unless a role is given
	// to the account here.
	OIDC       *config.OIDC
	OIDCSecret string
	// URL is where people reach it, if that is not where it listens: a proxy's address.
	URL string
	// Secure: it is reached over TLS, as it also is if URL or that of OIDC says https. Local: from this machine alone.
	Secure, Local bool
	// Log has faults. Default: none.
	Log *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Dashboard serves the pages.
type Dashboard struct {
	Options
	http.Handler
	conclusions conclusions
	forms       bounded.Capacity
	played      plays
	issuer      issuer
}

// New makes the dashboard.
func New(o Options) *Dashboard {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Dashboard{Options: o, forms: bounded.Capacity{All: 32 << 20, Each: 2 << 20}}
	_, _ = rand.Read(d.issuer.key[:]) // it never fails
	mux := http.NewServeMux()
	for _, r := range d.routes() {
		mux.Handle(r.pattern, d.guard(r))
	}
	d.Handler = http.NewCrossOriginProtection().Handler(d.withHeaders(mux))
	return d
}

// route is a way in.
type route struct {
	pattern string
	// required is the lowest role that may use it; "" for those that sign in.
	required store.Role
	serve    func(*visit) error
}

// routes is everything there is. What is not in it is not found, by those who signed in.
func (d *Dashboard) routes() []route {
	all := []route{{"/", store.Viewer, func(*visit) error { return errNotFound }}}
	for _, more := range [][]route{
		d.signInRoutes(), d.overviewRoutes(), d.datasetRoutes(), d.grantRoutes(),
		d.certificateRoutes(), d.routeRoutes(), d.keyRoutes(), d.auditRoutes(), d.officerRoutes(), d.playgroundRoutes(),
	} {
		all = append(all, more...)
	}
	return all
}

// The policy of every answer: nothing from elsewhere, nothing inline, no frame.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (d *Dashboard) withHeaders(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if d.secure() {
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		h.ServeHTTP(w, r)
	})
}

// visit is a request, and who makes it.
type visit struct {
	http.ResponseWriter
	*http.Request
	d *Dashboard
	// account is of the one who signed in, and token that of the session, or of the visit before.
	account store.Account
	token   string
	// held is what its form holds.
	held *bounded.Reservation
}

// Header is of the answer.
func (v *visit) Header() http.Header { return v.ResponseWriter.Header() }

func (v *visit) ctx() context.Context { return v.Request.Context() }

// problem is an error for the one who asked.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

var (
	errNotFound  = &problem{http.StatusNotFound, "There is no such page."}
	errForbidden = &problem{http.StatusForbidden, "Your role does not allow this. Anyone who looks after the service can change it: sotto serve account role."}
	errForged    = &problem{http.StatusForbidden, "The form is too old, or it comes from another page. Go back, load the page again, and send it once more."}
	errSignedOut = &problem{http.StatusUnauthorized, "You are signed out. Sign in, and try again."}
)

// Bounds of a form, or of what an address has behind its question mark: its bytes, and its fields.
// Both are far more than one needs, of somebody who signed in or of anybody.
const (
	maxForm            = 1 << 16
	maxFormOfStrangers = 1 << 13
	maxFields          = 256
)

var (
	errLongForm = &problem{http.StatusBadRequest, "The form cannot be read, or it is too long."}
	errCrowded  = &problem{http.StatusServiceUnavailable, "Too many forms are under way. Try again in a moment."}
)

// guard lets a request through to its route: one that is signed in, with a role that is enough,
// and, if it changes something, with the token of its session.
func (d *Dashboard) guard(to route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{ResponseWriter: w, Request: r, d: d}
		defer v.release()
		defer fault.Recover(func(where string) {
			d.Log.Error("a page failed", "where", where)
			v.failed(&problem{http.StatusInternalServerError, "The page failed. The service's log says where."})
		})
		if err := d.admit(v, to); err != nil {
			v.failed(err)
			return
		}
		if err := to.serve(v); err != nil {
			v.failed(err)
		}
	})
}

func (d *Dashboard) admit(v *visit, to route) error {
	if strings.Count(v.URL.RawQuery, "&") >= maxFields {
		return errLongForm
	}
	switch err := d.identify(v); {
	case to.required == "":
	case errors.Is(err, store.ErrDenied):
		return errSignedOut
	case err != nil:
		return err
	case !v.account.Role.May(to.required):
		return errForbidden
	}
	if v.Method == http.MethodGet || v.Method == http.MethodHead {
		v.Body = http.NoBody // whatever came with it
		return nil
	}
	largest := int64(maxForm)
	if to.required == "" {
		largest = maxFormOfStrangers
	}
	if err := d.readForm(v, largest); err != nil {
		return err
	}
	if !sameToken(v.PostForm.Get("token"), v.formToken()) {
		return errForged
	}
	return nil
}

// readForm reads a form. It is held for the one who signed in, or for the network that it comes from.
func (d *Dashboard) readForm(v *visit, largest int64) error {
	client := "account " + v.account.Name
	if v.account.Name == "" {
		client = "from " + network(v.RemoteAddr)
	}
	v.held = d.forms.Hold(client)
	data, err := v.held.Read(http.MaxBytesReader(v.ResponseWriter, v.Body, largest), v.ContentLength, largest)
	switch {
	case errors.Is(err, bounded.ErrClientFull), errors.Is(err, bounded.ErrFull):
		v.Header().Set("Retry-After", "1")
		return errCrowded
	case err != nil || bytes.Count(data, []byte("&")) >= maxFields:
		return errLongForm
	}
	v.Body = io.NopCloser(bytes.NewReader(data))
	if err := v.ParseForm(); err != nil {
		return errLongForm
	}
	return nil
}

// network is where a request comes from: an IPv4 address, or the 64 bits of an IPv6 address by which a
// network is known.
func network(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return address
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	block, err := ip.Prefix(bits)
	if err != nil {
		return address
	}
	return block.String()
}

// release ends what is held of a form.
func (v *visit) release() {
	if v.held != nil {
		v.held.Release()
	}
}

// failed shows an error. What the store or the ledger said is for the log alone.
func (v *visit) failed(err error) {
	var p *problem
	if !errors.As(err, &p) {
		v.d.Log.Error("a page cannot be shown", "page", v.Pattern, "error", err.Error())
		p = &problem{http.StatusServiceUnavailable, "The store or the ledger cannot be read now. The service's log says why."}
	}
	if p == errSignedOut && v.Method == http.MethodGet {
		v.redirect("/sign-in" + next(v.URL))
		return
	}
	v.render(p.status, "problem", page{Title: http.StatusText(p.status), Data: p.text})
}

func (v *visit) redirect(to string) {
	http.Redirect(v.ResponseWriter, v.Request, to, http.StatusSeeOther)
}
