package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each runs a test on both databases; open opens another handle of the same store.
func each(t *testing.T, test func(t *testing.T, s *Store, open func() *Store)) {
	for name, address := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "service.db") },
		"postgres": func(t *testing.T) string { return pgtest.Schema(t) },
	} {
		t.Run(name, func(t *testing.T) {
			at := address(t)
			open := func() *Store {
				t.Helper()
				s, err := Open(t.Context(), at, true)
				must(t, err)
				t.Cleanup(func() { must(t, s.Close()) })
				return s
			}
			test(t, open(), open)
		})
	}
}

// TestKeys: a secret finds its key while that counts, and nothing else does.
func TestKeys(t *testing.T) {
	each(t, func(t *testing.T, s *Store, open func() *Store) {
		ctx := t.Context()
		now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		s.now = func() time.Time { return now }
		later := now.Add(time.Hour)
		made, secret, err := s.AddKey(ctx, "ann", Key{Name: " team a ", Routes: []string{"tickets"}, PerMinute: 5, Expires: &later})
		must(t, err)
		other, second, err := s.AddKey(ctx, "ann", Key{Name: "boss", Routes: []string{"*"}})
		must(t, err)
		at := expect.At(t, "secrets")
		expect.True(at, "secret is not second", secret != second, secret)
		expect.True(at, "made.ID is not other.ID", made.ID != other.ID, made.ID)
		expect.Prefix(at, "secret", secret, prefix+made.ID+"-")
		expect.Min(at, "len(secret)", len(secret), len(prefix)+12+1+52)
		ring := func() *Ring {
			t.Helper()
			other := open()
			other.now = s.now
			r, err := other.Ring(ctx)
			must(t, err)
			return r
		}
		k, ok := ring().Find(secret)
		expect.True(t, "ok", ok)
		expect.Equal(t, "k.Name", k.Name, "team a")
		expect.True(t, "k.May('tickets')", k.May("tickets"))
		expect.True(t, "not k.May('notes')", !k.May("notes"))
		expect.Equal(t, "k.PerMinute", k.PerMinute, 5)
		if k, ok := ring().Find(second); !ok || !k.May("anything") {
			t.Errorf("%v %+v", ok, k)
		}
		for _, wrong := range []string{"", prefix, secret[:len(secret)-1], secret + "a", strings.ToUpper(secret), prefix + made.ID + "-" + strings.Repeat("A", 52), prefix + other.ID + secret[len(prefix)+12:], "sk-" + secret} {
			if _, ok := ring().Find(wrong); ok {
				t.Errorf("%q is taken for a key", wrong)
			}
		}
		now = later
		if _, ok := ring().Find(secret); ok {
			t.Error("an expired key counts")
		}
		if _, _, err := s.RotateKey(ctx, "ann", made.ID, time.Minute); err == nil {
			t.Error("an expired key was rotated")
		}
		fresh, third, err := s.RotateKey(ctx, "ann", other.ID, time.Minute)
		must(t, err)
		if _, _, err := s.RotateKey(ctx, "ann", other.ID, time.Minute); err == nil || fresh.Expires != nil {
			t.Errorf("a key was rotated twice (%v), or the new one expires (%v)", err, fresh.Expires)
		}
		for _, counts := range []string{second, third} {
			if k, ok := ring().Find(counts); !ok || k.Name != "boss" {
				t.Error("a rotated key does not count for a while")
			}
		}
		now = now.Add(time.Minute)
		if _, ok := ring().Find(second); ok {
			t.Error("the old secret counts too long")
		}
		must(t, s.RevokeKey(ctx, "ann", fresh.ID))
		if _, ok := ring().Find(third); ok {
			t.Error("a revoked key counts")
		}
		if err := s.RevokeKey(ctx, "ann", fresh.ID); err == nil {
			t.Error("a key was revoked twice")
		}
		if _, _, err := s.RotateKey(ctx, "ann", fresh.ID, 0); err == nil {
			t.Error("a revoked key was rotated")
		}
		for _, wrong := range []Key{{Routes: []string{"*"}}, {Name: "x"}, {Name: "x", Routes: []string{"*"}, PerMinute: -1}, {Name: strings.Repeat("x", 201), Routes: []string{"*"}}} {
			if _, _, err := s.AddKey(ctx, "ann", wrong); err == nil {
				t.Errorf("%+v was added", wrong)
			}
		}
	})
}

// TestSecretsAreNotKept: the file of a store has no secret of any key.
func TestSecretsAreNotKept(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), filepath.Join(dir, "service.db"), true)
	must(t, err)
	_, secret, err := s.AddKey(t.Context(), "ann", Key{Name: "x", Routes: []string{"*"}})
	must(t, err)
	must(t, s.Close())
	files, err := os.ReadDir(dir)
	must(t, err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		must(t, err)
		if bytes.Contains(data, []byte(secret[len(prefix)+13:])) {
			t.Errorf("%s holds a secret", f.Name())
		}
		if info, err := f.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", f.Name(), info.Mode())
		}
	}
}

// TestRoutes: every version stays, one is active, and one can go back.
func TestRoutes(t *testing.T) {
	each(t, func(t *testing.T, s *Store, open func() *Store) {
		ctx := t.Context()
		for i, release := range []string{"a", "b", "c"} {
			r, err := s.SetRoute(ctx, "ann", "tickets", RouteSpec{Upstream: "local", Release: release})
			must(t, err)
			if r.Version != int64(i+1) {
				t.Errorf("version %d of %s", r.Version, release)
			}
		}
		_, err := s.SetRoute(ctx, "ann", "notes", RouteSpec{Upstream: "local"})
		must(t, err)
		active := func() string {
			t.Helper()
			all, err := open().Routes(ctx, true)
			must(t, err)
			var out []string
			for _, r := range all {
				out = append(out, r.Name+"="+r.Spec.Release)
			}
			return strings.Join(out, " ")
		}
		if got := active(); got != "notes= tickets=c" {
			t.Error(got)
		}
		for _, c := range []struct {
			version, want int64
			active        string
		}{{0, 2, "notes= tickets=b"}, {0, 1, "notes= tickets=a"}, {3, 3, "notes= tickets=c"}} {
			got, err := s.UseRoute(ctx, "ann", "tickets", c.version)
			must(t, err)
			if got != c.want || active() != c.active {
				t.Errorf("version %d: %d, %s", c.version, got, active())
			}
		}
		for _, version := range []int64{4, -1} {
			if _, err := s.UseRoute(ctx, "ann", "tickets", version); err == nil {
				t.Errorf("version %d is used", version)
			}
		}
		if _, err := s.UseRoute(ctx, "ann", "notes", 0); err == nil {
			t.Error("there was a version before the first")
		}
		must(t, s.RemoveRoute(ctx, "ann", "notes"))
		if got := active(); got != "tickets=c" {
			t.Error(got)
		}
		if err := s.RemoveRoute(ctx, "ann", "notes"); err == nil {
			t.Error("a route was removed twice")
		}
		all, err := s.Routes(ctx, false)
		must(t, err)
		expect.Len(t, "all", all, 4)
		expect.Equal(t, "all[3].By", all[3].By, "ann")
		expect.True(t, "all[3].Active", all[3].Active)
		log, err := s.Audit(ctx, 100)
		must(t, err)
		expect.Len(t, "log", log, 8)
		expect.Equal(t, "log[0].Action", log[0].Action, "remove route")
		expect.Equal(t, "log[0].Subject", log[0].Subject, "notes")
		expect.Equal(t, "log[7].Action", log[7].Action, "set route")
		expect.Equal(t, "log[7].Actor", log[7].Actor, "ann")
	})
}

// TestConcurrentChanges: changes of several processes come one after the other; none is lost,
// and each moves the generation.
func TestConcurrentChanges(t *testing.T) {
	each(t, func(t *testing.T, s *Store, open func() *Store) {
		ctx := t.Context()
		before, err := s.Generation(ctx)
		must(t, err)
		var group sync.WaitGroup
		for range 4 {
			other := open()
			group.Go(func() {
				for range 10 {
					if _, err := other.SetRoute(ctx, "ann", "tickets", RouteSpec{Upstream: "local"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		all, err := s.Routes(ctx, false)
		must(t, err)
		after, err := s.Generation(ctx)
		must(t, err)
		expect.Len(t, "all", all, 40)
		expect.Equal(t, "all[39].Version", all[39].Version, 40)
		expect.True(t, "all[39].Active", all[39].Active)
		expect.Equal(t, "after", after, before+40)
	})
}

// TestFailedChange: of a change that fails nothing remains.
func TestFailedChange(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx, cancel := context.WithCancel(t.Context())
		before, err := s.Generation(ctx)
		must(t, err)
		cancel()
		if _, err := s.SetRoute(ctx, "ann", "tickets", RouteSpec{Upstream: "local"}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := s.UseRoute(t.Context(), "ann", "tickets", 7); err == nil {
			t.Error("a version that is not there is used")
		}
		after, err := s.Generation(t.Context())
		must(t, err)
		log, err := s.Audit(t.Context(), 10)
		must(t, err)
		if after != before || len(log) != 0 {
			t.Errorf("generation %d after %d, %v", after, before, log)
		}
	})
}

// TestMissing: a store is not made by accident.
func TestMissing(t *testing.T) {
	for name, address := range map[string]string{"sqlite": filepath.Join(t.TempDir(), "service.db"), "postgres": pgtest.Schema(t)} {
		for range 2 {
			if _, err := Open(t.Context(), address, false); !errors.Is(err, ErrMissing) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestConcurrentAnswersOfAKey: however many processes count, a key gets as many private answers as it
// may, also under the keys that it is rotated to; what was not charged is given back.
func TestConcurrentAnswersOfAKey(t *testing.T) {
	each(t, func(t *testing.T, s *Store, open func() *Store) {
		ctx := t.Context()
		k, _, err := s.AddKey(ctx, "ann", Key{Name: "team", Routes: []string{"*"}, Answers: 20})
		must(t, err)
		fresh, _, err := s.RotateKey(ctx, "ann", k.ID, time.Hour)
		must(t, err)
		var mu sync.Mutex
		had := 0
		var all sync.WaitGroup
		for i := range 4 {
			one, from := k, s
			if i%2 == 1 {
				one, from = fresh, open()
			}
			all.Go(func() {
				for range 10 {
					may, err := from.TakeAnswer(ctx, one)
					if err != nil {
						t.Error(err)
					}
					if may {
						mu.Lock()
						had++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		if had != 20 {
			t.Errorf("%d of 20 answers", had)
		}
		must(t, s.GiveAnswer(ctx, fresh))
		if may, err := s.TakeAnswer(ctx, k); err != nil || !may {
			t.Errorf("what was given back is gone: %v", err)
		}
		if may, err := s.TakeAnswer(ctx, k); err != nil || may {
			t.Errorf("more than it may: %v", err)
		}
		keys, err := s.Keys(ctx)
		must(t, err)
		expect.Len(t, "keys", keys, 2)
		expect.Equal(t, "keys[0].Asked", keys[0].Asked, 20)
		expect.Equal(t, "keys[1].Asked", keys[1].Asked, 20)
		expect.Equal(t, "keys[1].Answers", keys[1].Answers, 20)
		for _, wrong := range []Key{{Name: "x", Admin: true, Routes: []string{"*"}}, {Name: "x", Routes: []string{""}}, {Name: "x\x00y", Routes: []string{"*"}}, {Name: "x", Routes: []string{"*"}, Answers: -1}} {
			if _, _, err := s.AddKey(ctx, "ann", wrong); err == nil {
				t.Errorf("%+v was made", wrong)
			}
		}
		must(t, s.RevokeKey(ctx, "ann", fresh.ID))
		if ring, err := s.Ring(ctx); err != nil {
			t.Error(err)
		} else if _, counts := ring.Named(fresh.ID); counts {
			t.Error("a revoked key counts by its name")
		}
		admin, secret, err := s.AddKey(ctx, "ann", Key{Name: "ops", Admin: true})
		must(t, err)
		ring, err := s.Ring(ctx)
		must(t, err)
		found, ok := ring.Find(secret)
		expect.True(t, "ok", ok)
		expect.True(t, "found.Admin", found.Admin)
		expect.True(t, "not found.May('anything')", !found.May("anything"))
		expect.True(t, "not admin.May('*')", !admin.May("*"))
	})
}

// TestOtherStore: tables of another version are refused, and left as they are.
func TestOtherStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "service.db")
	s, err := Open(t.Context(), path, true)
	must(t, err)
	_, err = s.db.ExecContext(t.Context(), "UPDATE service_schema SET version = 7")
	must(t, err)
	must(t, s.Close())
	if _, err := Open(t.Context(), path, true); err == nil || !strings.Contains(err.Error(), "version 7") {
		t.Errorf("%v", err)
	}
}

// TestControlCharacters: what would control the terminal of anyone who lists it is kept nowhere.
func TestControlCharacters(t *testing.T) {
	each(t, func(t *testing.T, s *Store, _ func() *Store) {
		ctx := t.Context()
		for _, c := range []string{"\x1b[2J", "\x07", "\r", "\n", "\u009b", "\x7f", "\u202e", "\u2028", "\xff"} {
			text := "a" + c + "b"
			for what, spec := range map[string]RouteSpec{
				"model": {Upstream: "u", Model: text}, "upstream": {Upstream: text}, "release": {Upstream: "u", Release: text}, "task": {Upstream: "u", Task: text},
				"data": {Answers: &AnswerSpec{Plan: []byte("{}"), Data: text}}, "data set": {Answers: &AnswerSpec{Plan: []byte("{}"), Dataset: text}},
			} {
				if _, err := s.SetRoute(ctx, "ann", "news", spec); err == nil {
					t.Errorf("a route with the %s %q is kept", what, text)
				}
			}
			if _, _, err := s.AddKey(ctx, "ann", Key{Name: text, Routes: []string{"*"}}); err == nil {
				t.Errorf("a key %q is kept", text)
			}
			if _, err := s.AskGrant(ctx, Account{Name: "o", Role: Operator}, Grant{Dataset: "d", Budget: "b", Epsilon: 1, Reason: text}); err == nil {
				t.Errorf("a grant for the reason %q is kept", text)
			}
		}
		if _, err := s.SetRoute(ctx, "ann", "news", RouteSpec{Answers: &AnswerSpec{Plan: []byte("{}"), Query: "SELECT a\n\tFROM b"}}); err != nil {
			t.Errorf("a query of two lines: %v", err)
		}
		if _, err := s.SetRoute(ctx, "ann", "news", RouteSpec{Answers: &AnswerSpec{Plan: []byte("{}"), Query: "SELECT \x1b[2J"}}); err == nil {
			t.Error("a query that controls a terminal is kept")
		}
	})
}
