package store

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/sys/expect"
)

// Tests try hundreds of passwords.
func init() { hashCost = cost{time: 1, memory: 1 << 10, lanes: 1} }

const secretWords = "four words in a row"

// people adds an account of each role; owners own the data set "data".
func people(t *testing.T, s *Store, roles map[string]Role) {
	t.Helper()
	for name, role := range roles {
		a := Account{Name: name, Role: role}
		if role == Owner {
			a.Owns = []string{"data"}
		}
		must(t, s.AddAccount(t.Context(), "root", a, secretWords))
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

// TestAccounts: a password signs in, another does not, nor that of an account that was disabled,
// and neither password nor token is in the store.
func TestAccounts(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		people(t, s, map[string]Role{"viewer-one": Viewer, "owner-one": Owner})
		a, err := s.SignIn(ctx, Attempt{Name: "owner-one", Password: secretWords, Address: "here"})
		expect.NoError(t, err)
		expect.Equal(t, "a.Role", a.Role, Owner)
		expect.True(t, "a.OwnerOf('data')", a.OwnerOf("data"))
		expect.True(t, "not a.OwnerOf('other')", !a.OwnerOf("other"))
		for _, wrong := range [][2]string{{"owner-one", secretWords + "!"}, {"owner-one", ""}, {"nobody", secretWords}, {"", ""}, {"OWNER-ONE", secretWords}} {
			if _, err := s.SignIn(ctx, Attempt{Name: wrong[0], Password: wrong[1], Address: "here"}); !errors.Is(err, ErrDenied) {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		token, err := s.AddSession(ctx, "owner-one")
		must(t, err)
		for _, table := range []string{"service_accounts", "service_sessions", "service_audit", "service_attempts"} {
			if text := dump(t, s, table); strings.Contains(text, token) || strings.Contains(text, secretWords) {
				t.Errorf("%s has a secret: %s", table, text)
			}
		}
		must(t, s.DisableAccount(ctx, "root", "owner-one", false))
		if _, err := s.SignIn(ctx, Attempt{Name: "owner-one", Password: secretWords, Address: "here"}); !errors.Is(err, ErrDenied) {
			t.Errorf("disabled: %v", err)
		}
		must(t, s.DisableAccount(ctx, "root", "owner-one", true))
		if _, err := s.SignIn(ctx, Attempt{Name: "owner-one", Password: secretWords, Address: "here"}); err != nil {
			t.Errorf("enabled again: %v", err)
		}
		for what, err := range map[string]error{
			"twice":        s.AddAccount(ctx, "root", Account{Name: "owner-one", Role: Viewer}, secretWords),
			"short":        s.AddAccount(ctx, "root", Account{Name: "b", Role: Viewer}, "short"),
			"name":         s.AddAccount(ctx, "root", Account{Name: "<b>", Role: Viewer}, secretWords),
			"role":         s.AddAccount(ctx, "root", Account{Name: "b", Role: "root"}, secretWords),
			"viewer owns":  s.AddAccount(ctx, "root", Account{Name: "b", Role: Viewer, Owns: []string{"data"}}, secretWords),
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
		expect.NoError(t, err)
		expect.Len(t, "all", all, 2)
		expect.True(t, "all[0].OwnerOf('data')", all[0].OwnerOf("data"))
		expect.True(t, "all[1].OwnerOf('data')", all[1].OwnerOf("data"))
		log, err := s.Audit(ctx, 3)
		expect.NoError(t, err)
		expect.Len(t, "log", log, 3)
		expect.Equal(t, "log[0].Action", log[0].Action, "add owner")
		expect.Equal(t, "log[1].Action", log[1].Action, "set role of account")
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

// TestSessions: a session ends when it is not used, after a while, with a sign-out, a new password
// and when its account is disabled.
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
			if a, err := s.Session(ctx, token, true); err != nil || a.Name != "owner-one" {
				t.Fatalf("%+v, %v", a, err)
			}
			return token
		}
		ended := func(what, token string) {
			t.Helper()
			if a, err := s.Session(ctx, token, true); !errors.Is(err, ErrDenied) {
				t.Errorf("%s: %+v, %v", what, a, err)
			}
		}
		ended("no token", "")
		token := begin()
		for range 3 {
			now = now.Add(SessionIdle - time.Second)
			if _, err := s.Session(ctx, token, true); err != nil {
				t.Fatal("it ended while it was used")
			}
		}
		now = now.Add(SessionIdle / 2)
		if _, err := s.Session(ctx, token, false); err != nil {
			t.Fatal(err)
		}
		now = now.Add(SessionIdle / 2)
		ended("idle: a look is no use", token)
		token = begin()
		for end := now.Add(SessionMax); now.Before(end); now = now.Add(SessionIdle / 2) {
			_, err := s.Session(ctx, token, true)
			must(t, err)
		}
		ended("old", token)
		token = begin()
		must(t, s.EndSession(ctx, "owner-one", token))
		ended("signed out", token)
		token = begin()
		must(t, s.SetPassword(ctx, "root", "owner-one", secretWords+" more"))
		ended("another password", token)
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

// TestAttempts: after some failures of an account, or of an address, even the right password has
// to wait, longer each time, and time lets it in again.
func TestAttempts(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		s.now = func() time.Time { return now }
		people(t, s, map[string]Role{"viewer-one": Viewer, "viewer-two": Viewer})
		waits := func(name, from string) time.Duration {
			t.Helper()
			_, err := s.SignIn(ctx, Attempt{Name: name, Password: "wrong", Address: from})
			var wait *WaitError
			if errors.As(err, &wait) {
				return wait.For
			}
			if !errors.Is(err, ErrDenied) {
				t.Fatal(err)
			}
			return 0
		}
		for i := range attemptsOfAccount {
			if w := waits("viewer-one", string(rune('a'+i))); w != 0 {
				t.Fatalf("attempt %d waits %v", i, w)
			}
		}
		var last time.Duration
		for range 4 {
			w := waits("viewer-one", "elsewhere")
			if w <= last || w > maxWait {
				t.Errorf("after %v it is %v", last, w)
			}
			if _, err := s.SignIn(ctx, Attempt{Name: "viewer-one", Password: secretWords, Address: "here"}); err == nil {
				t.Error("the right password is not made to wait")
			}
			last = w
			now = now.Add(w)
			waits("viewer-one", "elsewhere")
		}
		now = now.Add(maxWait)
		if _, err := s.SignIn(ctx, Attempt{Name: "viewer-one", Password: secretWords, Address: "here"}); err != nil {
			t.Errorf("after a while: %v", err)
		}
		// Anyone who has an account does not get more attempts by using it.
		for i := range attemptsOfAddress {
			waits("name"+string(rune('a'+i)), "there")
			if i%4 == 0 {
				_, err := s.SignIn(ctx, Attempt{Name: "viewer-two", Password: secretWords, Address: "there"})
				must(t, err)
			}
		}
		if w := waits("another", "there"); w == 0 {
			t.Error("an address may try as often as it likes")
		}
		if _, err := s.SignIn(ctx, Attempt{Name: "viewer-two", Password: secretWords, Address: "here"}); err != nil {
			t.Errorf("another address: %v", err)
		}
	})
}

// TestConcurrentAttempts: attempts at the same time are counted before they are made.
func TestConcurrentAttempts(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		people(t, s, map[string]Role{"viewer-one": Viewer})
		var all sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for range 12 {
			all.Go(func() {
				_, err := s.SignIn(t.Context(), Attempt{Name: "viewer-one", Password: "wrong", Address: "here"})
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, ErrDenied) {
					made++
				} else if w, b := (*WaitError)(nil), (*BusyError)(nil); !errors.As(err, &w) && !errors.As(err, &b) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made > attemptsOfAccount+2 {
			t.Errorf("%d attempts were made at a time", made)
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
		if _, err := s.SignIn(ctx, Attempt{Name: a.Name, Password: "", Address: "here"}); !errors.Is(err, ErrDenied) {
			t.Errorf("an account without a password: %v", err)
		}
		if err := s.SetPassword(ctx, "root", a.Name, secretWords); err == nil {
			t.Error("an issuer's account gets a password")
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
