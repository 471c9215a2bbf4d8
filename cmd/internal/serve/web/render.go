package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/plot"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

//go:embed templates static
var files embed.FS

// navigation is what the top of every page shows.
var navigation = []struct {
	Place, Name string
	// Required is the role that it is for, or one above it.
	Required store.Role
}{
	{"/", "Overview", store.Viewer},
	{"/data-sets", "Data sets", store.Viewer},
	{"/playground", "Playground", store.Operator},
	{"/certificates", "Certificates", store.Viewer},
	{"/routes", "Routes", store.Viewer},
	{"/keys", "Keys", store.Viewer},
	{"/data-protection", "Data protection", store.Viewer},
	{"/audit", "Audit log", store.Viewer},
}

// page is what a template shows. render fills in what all pages have.
type page struct {
	Title string
	// Here is the place of the navigation that the page belongs to.
	Here string
	Data any
	// Said is what came of what was sent last.
	Said string

	Account store.Account
	Token   string
}

// Operator reports whether the page may show what operators do.
func (p page) Operator() bool { return p.Account.Role.May(store.Operator) }

// Owner reports whether the page may show what owners do.
func (p page) Owner() bool { return p.Account.Role.May(store.Owner) }

// templates by page, each with the layout around it. They are read at the first page: the verbs
// that show none start without them.
var templates = sync.OnceValue(parse)

func parse() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(files, "templates/layout.html", "templates/parts.html"))
	all := map[string]*template.Template{}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		page := strings.TrimSuffix(path.Base(name), ".html")
		if page == "layout" || page == "parts" {
			continue
		}
		all[page] = template.Must(template.Must(layout.Clone()).ParseFS(files, name))
	}
	return all
}

var functions = template.FuncMap{
	"navigation": func() any { return navigation },
	"day":        func(t time.Time) string { return t.UTC().Format("2 January 2006") },
	"moment":     func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04") },
	"exact":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"atMost":     func(v any) string { return number(v, ui.AtMost[float64]) },
	"atLeast":    func(v any) string { return number(v, ui.AtLeast[float64]) },
	"whole":      func(v any) string { return number(v, ui.Whole) },
	"place":      place,
	"cut":        ui.CutLine,
	"counted":    ui.Counted,
	"sentence":   sentence,
	"standing":   standing,
	"label":      label,
	"form":       func(p page, about any) formPart { return formPart{p, about} },
}

// formPart is a form about something on a page.
type formPart struct {
	Page  page
	About any
}

// standing is how near a budget is to its end, for colours; words say it too.
func standing(b ledger.Balance) string {
	switch left := b.Left / b.Epsilon; {
	case !b.Open || !(left > 0):
		return "full"
	case left < 0.25:
		return "near"
	}
	return "calm"
}

// label is a word as a page writes it.
func label(s any) string { return strings.TrimSuffix(sentence(fmt.Sprint(s)), ".") }

func number(v any, format func(float64) string) string {
	var f float64
	switch x := v.(type) {
	case float64:
		f = x
	case ledger.Epsilon:
		f = float64(x)
	default:
		return fmt.Sprint(v)
	}
	if math.IsInf(f, 1) {
		return "∞"
	}
	return format(f)
}

// place is a path whose parts may hold anything.
func place(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "/" + strings.Join(parts, "/")
}

// sentence makes one of an error.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if r <= unicode.MaxLatin1 { // ε stays what it is
		r = unicode.ToUpper(r)
	}
	if s = string(r) + s[n:]; !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// said are the sentences that a page shows after something was done; links name them.
var said = map[string]string{
	"asked":    "The owners are asked to decide.",
	"approved": "You approved the request. It needs another owner.",
	"granted":  "The budget is raised.",
	"denied":   "You denied the request.",
	"refused":  "The ledger refused the grant. The request says why.",
	"revoked":  "The key is revoked.",
	"set":      "The route is set.",
	"used":     "The route uses another version.",
	"removed":  "The route is removed.",
}

func (v *visit) render(status int, name string, p page) {
	p.Account, p.Token = v.account, v.formToken()
	if p.Said == "" {
		p.Said = said[v.URL.Query().Get("said")]
	}
	var out bytes.Buffer
	if err := templates()[name].ExecuteTemplate(&out, "layout.html", p); err != nil {
		v.d.Log.Error("a page cannot be made", "page", name, "error", err.Error())
		http.Error(v.ResponseWriter, "the page cannot be made: the service's log says why", http.StatusInternalServerError)
		return
	}
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.WriteHeader(status)
	_, _ = v.ResponseWriter.Write(out.Bytes()) // anyone who asked may be gone
}

// static serves the style sheet, with that of plots, and the script.
func (d *Dashboard) static(v *visit) error {
	name := v.PathValue("name")
	data, err := files.ReadFile("static/" + name)
	if err != nil {
		return errNotFound
	}
	kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(name)]
	if name == "style.css" {
		data = append([]byte(plot.PageStyle()), data...)
	}
	v.Header().Set("Content-Type", kind)
	v.Header().Set("Cache-Control", "max-age=300")
	_, _ = v.ResponseWriter.Write(data) // anyone who asked may be gone
	return nil
}
