package web

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
)

func (d *Dashboard) keyRoutes() []route {
	return []route{
		{"GET /keys", store.Viewer, d.keysPage},
		{"POST /keys", store.Operator, d.addKey},
		{"POST /keys/{id}/revoke", store.Operator, d.revokeKey},
	}
}

type keysData struct {
	Keys   []keyView
	Routes []store.Route
	// Made has a secret that is shown once.
	Made   *store.Key
	Secret string
}

type keyView struct {
	store.Key
	// Counts: it is neither revoked nor expired.
	Counts bool
}

func (d *Dashboard) keysPage(v *visit) error { return d.showKeys(v, keysData{}) }

func (d *Dashboard) showKeys(v *visit, data keysData) error {
	all, err := d.Store.Keys(v.ctx())
	if err != nil {
		return err
	}
	for _, k := range all {
		data.Keys = append(data.Keys, keyView{k, k.Revoked == nil && (k.Expires == nil || d.Now().Before(*k.Expires))})
	}
	if data.Routes, err = d.Store.Routes(v.ctx(), true); err != nil {
		return err
	}
	v.render(200, "keys", page{Title: "Keys", Here: "/keys", Data: data})
	return nil
}

// addKey makes a key for clients. Keys that look after the service are made on the command line:
// they would do what an operator does, without an account.
func (d *Dashboard) addKey(v *visit) error {
	k := store.Key{Name: v.PostForm.Get("name"), Routes: v.PostForm["route"]}
	for field, into := range map[string]*int64{"per_minute": &k.PerMinute, "answers": &k.Answers} {
		n, err := strconv.ParseInt(cmp.Or(strings.TrimSpace(v.PostForm.Get(field)), "0"), 10, 64)
		if err != nil {
			return d.wrong(Refuse("give requests a minute and private answers as whole numbers, or leave them empty"))
		}
		*into = n
	}
	days, err := strconv.Atoi(cmp.Or(strings.TrimSpace(v.PostForm.Get("days")), "0"))
	if err != nil || days < 0 || days > 36500 {
		return d.wrong(Refuse("give the days for which the key counts as a whole number, or leave them empty"))
	}
	if days > 0 {
		end := d.Now().Add(time.Duration(days) * 24 * time.Hour)
		k.Expires = &end
	}
	made, secret, err := d.Store.AddKey(v.ctx(), v.account.Actor(), k)
	if err != nil {
		return d.wrong(ofStore(err))
	}
	return d.showKeys(v, keysData{Made: &made, Secret: secret})
}

// revokeKey ends a key of clients; those of administration belong to the command line.
func (d *Dashboard) revokeKey(v *visit) error {
	all, err := d.Store.Keys(v.ctx())
	if err != nil {
		return err
	}
	for _, k := range all {
		if k.ID == v.PathValue("id") && k.Admin {
			return d.wrong(Refuse("a key that looks after the service is revoked on the command line: sotto serve key revoke"))
		}
	}
	if err := d.Store.RevokeKey(v.ctx(), v.account.Actor(), v.PathValue("id")); err != nil {
		return d.wrong(ofStore(err))
	}
	v.redirect("/keys?said=revoked")
	return nil
}
