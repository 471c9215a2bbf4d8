package web

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
)

func (d *Dashboard) routeRoutes() []route {
	return []route{
		{"GET /routes", store.Viewer, d.routesPage},
		{"POST /routes", store.Operator, d.setRoute},
		{"POST /routes/{name}/use", store.Operator, d.useRoute},
		{"POST /routes/{name}/remove", store.Operator, d.removeRoute},
	}
}

// routeView is a route with its versions, the newest first.
type routeView struct {
	Name string
	// Active is what requests use; nil if the route was removed.
	Active   *store.Route
	Versions []store.Route
	// Private: it answers from records, or did. Such routes are changed where the records are.
	Private bool
	// Keys are the names of keys that may use it.
	Keys []string
}

// Release is the name of a version's folder.
func (r routeView) Release(v store.Route) string {
	if v.Spec.Release == "" {
		return ""
	}
	return filepath.Base(v.Spec.Release)
}

func (d *Dashboard) routeViews(ctx context.Context) (views []routeView, err error) {
	all, err := d.Store.Routes(ctx, false)
	if err != nil {
		return nil, err
	}
	keys, err := d.Store.Keys(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		i := slices.IndexFunc(views, func(r routeView) bool { return r.Name == one.Name })
		if i < 0 {
			i = len(views)
			views = append(views, routeView{Name: one.Name})
			for _, k := range keys {
				if k.May(one.Name) && k.Revoked == nil && (k.Expires == nil || d.Now().Before(*k.Expires)) {
					views[i].Keys = append(views[i].Keys, k.Name)
				}
			}
		}
		to := &views[i]
		to.Versions = slices.Insert(to.Versions, 0, one)
		to.Private = to.Private || one.Spec.Answers != nil
		if one.Active {
			to.Active = &one
		}
	}
	return views, nil
}

func (d *Dashboard) routesPage(v *visit) error {
	views, err := d.routeViews(v.ctx())
	if err != nil {
		return err
	}
	all, err := d.releases(v.ctx())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r *certifiedRelease) bool { return !r.OK() })
	v.render(200, "routes", page{Title: "Routes", Here: "/routes", Data: struct {
		Routes    []routeView
		Releases  []*certifiedRelease
		Upstreams []string
	}{views, all, d.Routes.Upstreams()}})
	return nil
}

func (d *Dashboard) setRoute(v *visit) error {
	form := v.PostForm
	spec := store.RouteSpec{Upstream: form.Get("upstream"), Model: strings.TrimSpace(form.Get("model")), Task: strings.TrimSpace(form.Get("task"))}
	nearest, err := strconv.Atoi(cmp.Or(strings.TrimSpace(form.Get("nearest")), "0"))
	if err != nil || nearest < 0 {
		return d.wrong(Refuse("give the number of examples as a whole number, or leave it empty for all"))
	}
	spec.Nearest = nearest
	if of := form.Get("release"); of != "" {
		all, err := d.releases(v.ctx())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(r *certifiedRelease) bool { return r.Route == of && r.OK() })
		if i < 0 {
			return d.wrong(Refuse("the route has no release whose certificate holds"))
		}
		spec.Release = all[i].dir
	}
	if _, err := d.Routes.SetRoute(v.ctx(), v.account.Actor(), strings.TrimSpace(form.Get("name")), spec); err != nil {
		return d.wrong(ofStore(err))
	}
	v.redirect("/routes?said=set")
	return nil
}

func (d *Dashboard) useRoute(v *visit) error {
	version, err := strconv.ParseInt(v.PostForm.Get("version"), 10, 64)
	if err != nil {
		return d.wrong(Refuse("name a version"))
	}
	if _, err := d.Routes.UseRoute(v.ctx(), v.account.Actor(), v.PathValue("name"), version); err != nil {
		return d.wrong(ofStore(err))
	}
	v.redirect("/routes?said=used")
	return nil
}

func (d *Dashboard) removeRoute(v *visit) error {
	if err := d.Routes.RemoveRoute(v.ctx(), v.account.Actor(), v.PathValue("name")); err != nil {
		return d.wrong(ofStore(err))
	}
	v.redirect("/routes?said=removed")
	return nil
}
