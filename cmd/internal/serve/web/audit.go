package web

import "github.com/sotto-dp/sotto/cmd/internal/serve/store"

func (d *Dashboard) auditRoutes() []route {
	return []route{{"GET /audit", store.Viewer, d.auditPage}}
}

func (d *Dashboard) auditPage(v *visit) error {
	entries, err := d.Store.Audit(v.ctx(), 500)
	if err != nil {
		return err
	}
	v.render(200, "audit", page{Title: "Audit log", Here: "/audit", Data: entries})
	return nil
}
