package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// failingRoutes fails as its error says.
type failingRoutes struct {
	fakeRoutes
	err error
}

func (f failingRoutes) RemoveRoute(context.Context, store.Actor, string) error { return f.err }

// TestRefusals: pages say what was refused in words for people. What the store says may name files, and is in the
// log alone.
func TestRefusals(t *testing.T) {
	s := newSite(t, nil)
	b := s.signIn(t, "operator-one")
	for _, c := range []struct {
		err        error
		want, hide string
	}{
		{Refuse("choose %d others", 7), "Choose 7 others.", "log says why"},
		{store.ErrDenied, "Your role does not allow this.", "log says why"},
		{fmt.Errorf("%w: /private/place/db", store.ErrStore), "log says why", "/private/place"},
	} {
		s.Routes = failingRoutes{fakeRoutes{s.Store}, c.err}
		if a := b.send("/routes/tickets/remove"); !strings.Contains(a.body, c.want) || strings.Contains(a.body, c.hide) {
			t.Errorf("%v: %d %s", c.err, a.status, a.body)
		}
		if hidden := strings.HasPrefix(c.hide, "/private"); hidden != strings.Contains(s.log.String(), c.err.Error()) {
			t.Errorf("the log of %v: %s", c.err, s.log)
		}
	}
}

// TestChecksOfCertificates: a folder that takes long to check holds up nobody who asks for
// another, is checked once for all, and not again as long as it looks the same.
func TestChecksOfCertificates(t *testing.T) {
	var checks atomic.Int64
	end := make(chan struct{})
	s := newSite(t, nil)
	verify := s.Verify
	slow := s.dir
	other := t.TempDir()
	must(t, os.CopyFS(other, os.DirFS(slow)))
	s.Verify = func(dir string) (*certificate.Report, error) {
		checks.Add(1)
		if strings.HasPrefix(dir, slow) {
			<-end
		}
		return verify(dir)
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if r := s.released("slow", slow); r == nil || !r.OK() {
				t.Error("the slow one does not hold")
			}
		})
	}
	for checks.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	done := make(chan bool, 1)
	go func() { r := s.released("other", other); done <- r != nil && r.OK() }()
	select {
	case ok := <-done:
		if !ok {
			t.Error("the other does not hold")
		}
	case <-time.After(20 * time.Second):
		t.Error("one check holds up another")
	}
	close(end)
	all.Wait()
	s.Now = func() time.Time { return time.Now().Add(time.Hour) }
	s.released("slow", slow)
	if n := checks.Load(); n != 2 {
		t.Errorf("%d checks of two folders", n)
	}
}

// TestReleasesOfOneDay: all files of a release have the time of a day, so that another release of
// that day in the same place may have the same names, sizes and times; it is checked anew.
func TestReleasesOfOneDay(t *testing.T) {
	dir, day := t.TempDir(), certificate.Day(time.Now())
	look := func(signed string) string {
		name := filepath.Join(dir, certificate.FileName)
		must(t, os.WriteFile(name, []byte(signed), 0o644))
		must(t, os.Chtimes(name, day, day))
		must(t, os.Chtimes(dir, day, day))
		return appearance(dir)
	}
	if one, other := look("one"), look("two"); one == other || one != look("one") {
		t.Error("a release looks like another")
	}
}

// TestPlaygroundLimit: an account asks so many questions a minute, and the audit log has who asked
// which route, without the question.
func TestPlaygroundLimit(t *testing.T) {
	s := newSite(t, nil)
	now := time.Now()
	s.Now = func() time.Time { return now }
	b := s.signIn(t, "operator-one")
	form := url.Values{"token": {b.token("/playground")}, "route": {"tickets"}, "question": {"zyzzyva"}}
	for range playsAMinute {
		if a := b.post("/playground", form); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if a := b.post("/playground", form); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("one more: %d", a.status)
	}
	other := s.signIn(t, "owner-one")
	form.Set("token", other.token("/playground"))
	if a := other.post("/playground", form); a.status != 200 {
		t.Errorf("somebody else: %d", a.status)
	}
	now = now.Add(time.Minute)
	form.Set("token", b.token("/playground"))
	if a := b.post("/playground", form); a.status != 200 {
		t.Errorf("after a minute: %d", a.status)
	}
	all, err := s.Store.Audit(t.Context(), 100)
	must(t, err)
	asked := 0
	for _, e := range all {
		if e.Action == "ask route" && e.Actor == "account operator-one" && e.Subject == "tickets" {
			asked++
		}
		if strings.Contains(fmt.Sprint(e), "zyzzyva") {
			t.Errorf("%+v", e)
		}
	}
	if asked != playsAMinute+1 {
		t.Errorf("%d entries", asked)
	}
}
