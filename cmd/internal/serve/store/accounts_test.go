package store

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// people adds an account of each role; owners own the data set "data".
func people(t *testing.T, s *Store, roles map[string]Role) {
	t.Helper()
	for name, role := range roles {
		a := Account{Name: name, Role: role}
		if role == Owner {
			a.Owns = []string{"data"}
		}
		must(t, s.AddAccount(t.Context(), "root", a))
	}
}

// TestRoles: each role includes those before it, and what is no role includes nothing.
func TestRoles(t *testing.T) {
	for have, want := range map[Role][3]bool{Viewer: {true, false, false}, Operator: {true, true, false}, Owner: {true, true, true}, "": {}, "root": {}} {
		if got := [3]bool{have.May(Viewer), have.May(Operator), have.May(Owner)}; got != want {
			t.Errorf("%q: %v", have, got)
		}
	}
	if Owner.May("") || Owner.May("root") {
		t.Error("a role that there is not is included")
	}
}

// TestAccounts: what is no account, no role or no owner is refused, and what is done is in the audit log.
func TestAccounts(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		people(t, s, map[string]Role{"viewer-one": Viewer, "owner-one": Owner})
		for what, err := range map[string]error{
			"twice":        s.AddAccount(ctx, "root", Account{Name: "owner-one", Role: Viewer}),
			"name":         s.AddAccount(ctx, "root", Account{Name: "<b>", Role: Viewer}),
			"role":         s.AddAccount(ctx, "root", Account{Name: "b", Role: "root"}),
			"viewer owns":  s.AddAccount(ctx, "root", Account{Name: "b", Role: Viewer, Owns: []string{"data"}}),
			"viewer later": s.SetOwner(ctx, "root", "viewer-one", "data", false),
			"nobody":       s.DisableAccount(ctx, "root", "nobody", false),
		} {
			if err == nil {
				t.Errorf("%s is taken", what)
			}
		}
		must(t, s.SetRole(ctx, "root", "viewer-one", Owner))
		must(t, s.SetOwner(ctx, "root", "viewer-one", "data", false))
		all, err := s.Accounts(ctx)
		must(t, err)
		expect.Len(t, "all", all, 2)
		expect.True(t, "owner-one owns data", all[0].OwnerOf("data"))
		expect.True(t, "viewer-one owns data", all[1].OwnerOf("data"))
		expect.True(t, "owner-one owns no other", !all[0].OwnerOf("other"))
		log, err := s.Audit(ctx, 3)
		must(t, err)
		expect.Len(t, "log", log, 3)
		expect.Equal(t, "log[0].Action", log[0].Action, "add owner")
		expect.Equal(t, "log[1].Action", log[1].Action, "set role of account")
	})
}

// TestLinks: a link signs its account in once, for a while, and only while the account may sign in; nothing
// else does, and the store does not have it.
func TestLinks(t *testing.T) {
	each(t, func(t *testing.T, s *Store, open func() *Store) {
		ctx := t.Context()
		now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		s.now = func() time.Time { return now }
		people(t, s, map[string]Role{"owner-one": Owner, "viewer-one": Viewer})
		link := func(name string) string {
			t.Helper()
			token, err := s.AddLink(ctx, "root", name)
			must(t, err)
			return token
		}
		use := func(token, want string) {
			t.Helper()
			a, err := s.UseLink(ctx, token)
			if denied := errors.Is(err, ErrDenied); denied != (want == "") || a.Name != want {
				t.Errorf("got %q, %v, want %q", a.Name, err, want)
			}
		}
		token, other := link("owner-one"), link("viewer-one")
		for _, table := range []string{"service_links", "service_audit"} {
			if text := dump(t, s, table); strings.Contains(text, token[13:]) {
				t.Errorf("%s has the token: %s", table, text)
			}
		}
		for _, wrong := range []string{"", "-", token[:12], token[:13], token + "A", token[:len(token)-1], strings.ToLower(token), token[:13] + other[13:], other[:13] + token[13:]} {
			use(wrong, "")
		}
		use(token, "owner-one") // what was wrong has not used it up
		use(token, "")
		token = link("owner-one")
		again := link("owner-one")
		use(token, "")
		use(other, "viewer-one")
		now = now.Add(LinkLives - time.Millisecond)
		use(again, "owner-one")
		token = link("owner-one")
		now = now.Add(LinkLives)
		use(token, "")
		token = link("owner-one")
		must(t, s.DisableAccount(ctx, "root", "owner-one", false))
		use(token, "")
		if _, err := s.AddLink(ctx, "root", "owner-one"); err == nil {
			t.Error("a disabled account gets a link")
		}
		must(t, s.DisableAccount(ctx, "root", "owner-one", true))
		use(token, "")
		if _, err := s.AddLink(ctx, "root", "nobody"); err == nil {
			t.Error("nobody gets a link")
		}
		token = link("viewer-one")
		var all sync.WaitGroup
		var used atomic.Int64
		for range 6 {
			from := open()
			from.now = s.now
			all.Go(func() {
				if _, err := from.UseLink(ctx, token); err == nil {
					used.Add(1)
				} else if !errors.Is(err, ErrDenied) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := used.Load(); n != 1 {
			t.Errorf("a link was used %d times at once", n)
		}
	})
}

// dump reads a table as text.
func dump(t *testing.T, s *Store, table string) string {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), "SELECT * FROM "+table)
	must(t, err)
	defer func() { must(t, rows.Close()) }()
	columns, err := rows.Columns()
	must(t, err)
	var text strings.Builder
	for rows.Next() {
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new([]byte)
		}
		must(t, rows.Scan(cells...))
		for _, c := range cells {
			text.Write(*c.(*[]byte))
			text.WriteByte('\n')
		}
	}
	must(t, rows.Err())
	return text.String()
}

// TestSessions: a session ends when it is not used, after a while, with a sign-out, and when its account
// is disabled; the store does not have its token.
func TestSessions(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		s.now = func() time.Time { return now }
		people(t, s, map[string]Role{"owner-one": Owner, "viewer-one": Viewer})
		begin := func() string {
			t.Helper()
			token, err := s.AddSession(ctx, "owner-one")
			must(t, err)
			if a, err := s.Session(ctx, token); err != nil || a.Name != "owner-one" {
				t.Fatalf("%+v, %v", a, err)
			}
			return token
		}
		ended := func(what, token string) {
			t.Helper()
			if a, err := s.Session(ctx, token); !errors.Is(err, ErrDenied) {
				t.Errorf("%s: %+v, %v", what, a, err)
			}
		}
		ended("no token", "")
		token := begin()
		for _, table := range []string{"service_sessions", "service_audit"} {
			if text := dump(t, s, table); strings.Contains(text, token) {
				t.Errorf("%s has the token: %s", table, text)
			}
		}
		for range 3 {
			now = now.Add(SessionIdle - time.Second)
			if _, err := s.Session(ctx, token); err != nil {
				t.Fatal("it ended while it was used")
			}
		}
		now = now.Add(SessionIdle)
		ended("idle", token)
		token = begin()
		for end := now.Add(SessionMax); now.Before(end); now = now.Add(SessionIdle / 2) {
			_, err := s.Session(ctx, token)
			must(t, err)
		}
		ended("old", token)
		token = begin()
		must(t, s.EndSession(ctx, "owner-one", token))
		ended("signed out", token)
		token = begin()
		must(t, s.DisableAccount(ctx, "root", "owner-one", false))
		ended("disabled", token)
		must(t, s.DisableAccount(ctx, "root", "owner-one", true))
		ended("enabled again", token)
		if _, err := s.AddSession(ctx, "nobody"); err == nil {
			t.Error("a session of nobody")
		}
	})
}

// TestWelcome: an issuer's person has one account, whose role follows the claims, and never
// someone else's of the same name.
func TestWelcome(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		people(t, s, map[string]Role{"owner-one": Owner})
		p := Person{Issuer: "https://issuer.example", Subject: "17", Name: "Owner-One"}
		a, err := s.Welcome(ctx, p)
		expect.NoError(t, err)
		expect.Equal(t, "a.Name", a.Name, "owner-one-2")
		expect.Equal(t, "a.Role", a.Role, Viewer)
		p.Role = Operator
		again, err := s.Welcome(ctx, p)
		expect.NoError(t, err)
		expect.Equal(t, "again.Name", again.Name, a.Name)
		expect.Equal(t, "again.Role", again.Role, Operator)
		p.Role = ""
		if again, err := s.Welcome(ctx, p); err != nil || again.Role != Operator {
			t.Errorf("%+v, %v", again, err)
		}
		if _, err := s.AddLink(ctx, "root", a.Name); err == nil {
			t.Error("an issuer's account gets a link")
		}
		if other, err := s.Welcome(ctx, Person{Issuer: "https://other.example", Subject: "17", Name: "<script>"}); err != nil || other.Name != "script-" {
			t.Errorf("%+v, %v", other, err)
		}
		must(t, s.DisableAccount(ctx, "root", a.Name, false))
		if _, err := s.Welcome(ctx, p); !errors.Is(err, ErrDenied) {
			t.Errorf("disabled: %v", err)
		}
	})
}
