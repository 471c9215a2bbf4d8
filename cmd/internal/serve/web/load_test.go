package web

import (
	"bufio"
	"context"
	"errors"
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
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/sys/expect"
)

// planStub plans as its function does.
type planStub struct {
	*fakeRuns
	plan func(ctx context.Context) error
}

func (r planStub) Plan(ctx context.Context, _ RunRequest) (*PlanSummary, error) {
	return &PlanSummary{}, r.plan(ctx)
}

func (r planStub) Compare(ctx context.Context, _ RunRequest) ([]*PlanSummary, error) {
	return nil, r.plan(ctx)
}

func (r planStub) Job(ctx context.Context, _ RunRequest) (store.Job, error) {
	return store.Job{}, r.plan(ctx)
}

func (r planStub) RemoveUpload(ctx context.Context, _ store.Account, _ string) error {
	return r.plan(ctx)
}

const planOfTickets = "source=source%3Atickets&was=source%3Atickets&size=500"

// TestRefusals: pages say what was refused in words for people. Whatever else failed may name files,
// and is in the log alone.
func TestRefusals(t *testing.T) {
	s := newSite(t, nil)
	b := s.signIn(t, "operator-one")
	token, runs := b.token("/runs/new"), s.Runs.(*fakeRuns)
	for _, c := range []struct {
		err        error
		want, hide string
	}{
		{Refuse("choose %d others", 7), "Choose 7 others.", "log says why"},
		{fmt.Errorf("somewhere: %w", Refuse("choose others")), "Choose others.", "somewhere"},
		{&plan.InputError{Reason: "ε is too small"}, "ε is too small", "log says why"},
		{errors.New("open /private/place/key: no such file"), "log says why", "/private/place"},
		{fmt.Errorf("%w: /private/place/db", store.ErrStore), "log says why", "/private/place"},
	} {
		s.Runs = planStub{runs, func(context.Context) error { return c.err }}
		for what, a := range map[string]answer{
			"plan":    b.get("/runs/new?" + planOfTickets),
			"compare": b.get("/compare?task=agnews&size=500"),
			"job":     b.post("/runs", url.Values{"token": {token}, "source": {"source:tickets"}, "size": {"500"}}),
			"remove":  b.post("/uploads/one/remove", url.Values{"token": {token}}),
		} {
			if !strings.Contains(a.body, c.want) || strings.Contains(a.body, c.hide) {
				t.Errorf("%s of %v: %d", what, c.err, a.status)
			}
		}
		if hidden := strings.HasPrefix(c.hide, "/private"); hidden != strings.Contains(s.log.String(), c.err.Error()) {
			t.Errorf("the log of %v: %s", c.err, s.log)
		}
	}
}

// TestPlanningLoad: few plans at once, none for long, and none of what is out of bounds.
func TestPlanningLoad(t *testing.T) {
	s := newSite(t, nil)
	b := s.signIn(t, "operator-one")
	var now, highest atomic.Int64
	end := make(chan struct{})
	s.planTime = 300 * time.Millisecond
	s.Runs = planStub{s.Runs.(*fakeRuns), func(context.Context) error {
		highest.Store(max(highest.Load(), now.Add(1)))
		<-end // it does not heed its deadline
		now.Add(-1)
		return nil
	}}
	var all sync.WaitGroup
	var said sync.Map
	for i := range 6 {
		all.Go(func() {
			said.Store(b.get([]string{"/runs/new?" + planOfTickets, "/compare?task=agnews&size=500"}[i%2]).body, true)
		})
	}
	all.Wait()
	long, busy := false, false
	said.Range(func(body, _ any) bool {
		long = long || strings.Contains(body.(string), "takes too long")
		busy = busy || strings.Contains(body.(string), "Others are planning")
		return true
	})
	expect.Equal(t, "highest.Load", highest.Load(), plansAtOnce)
	expect.True(t, "long", long)
	expect.True(t, "busy", busy)
	close(end)
	asked := false
	s.Runs = planStub{s.Runs.(planStub).fakeRuns, func(context.Context) error { asked = true; return nil }}
	for _, query := range []string{"size=1000000000001", "size=500&epsilon=1e-7", "size=500&epsilon=1001", "size=500&epsilon=NaN", "size=500&epsilon=Inf"} {
		for _, page := range []string{"/runs/new?source=source%3Atickets&was=source%3Atickets&", "/compare?task=agnews&"} {
			if a := b.get(page + query); asked || !strings.Contains(a.body, "should be") && !strings.Contains(a.body, "too many records") {
				t.Errorf("%s%s: %s", page, query, a.body)
			}
		}
	}
}

// TestPlanGoesOn: a plan that takes longer than a page waits is not cut off by that, and one whose
// reader has left is.
func TestPlanGoesOn(t *testing.T) {
	d := New(Options{})
	d.planTime = 20 * time.Millisecond
	ended := make(chan error, 1)
	if _, err := planned(t.Context(), d, func(ctx context.Context) (int, error) {
		time.Sleep(5 * d.planTime)
		ended <- ctx.Err()
		return 0, nil
	}); !errors.Is(err, errLong) {
		t.Errorf("%v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it is cut off: %v", err)
	}
	d.planTime = time.Minute
	ctx, leave := context.WithCancel(t.Context())
	if _, err := planned(ctx, d, func(ctx context.Context) (int, error) {
		leave()
		<-ctx.Done()
		ended <- ctx.Err()
		return 0, ctx.Err()
	}); err == nil {
		t.Error("it has ended well")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it continues for nobody: %v", err)
	}
}

// listen opens a page's connection for changes.
func (b *browser) listen(ctx context.Context) *http.Response {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+"/events", nil)
	must(b.t, err)
	response, err := b.Do(r)
	must(b.t, err)
	return response
}

// TestListeners: however many pages stay up to date, the store is looked at once a tick, all are told of
// a change, and a session has so many of them.
func TestListeners(t *testing.T) {
	s := newSite(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var open []*http.Response
	for _, name := range []string{"viewer-one", "operator-one"} {
		b := s.signIn(t, name)
		for range maxListenersOfSession {
			r := b.listen(ctx)
			if r.StatusCode != http.StatusOK {
				t.Fatalf("%d", r.StatusCode)
			}
			open = append(open, r)
		}
		r := b.listen(ctx)
		must(t, r.Body.Close())
		if r.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("one more of a session: %d", r.StatusCode)
		}
	}
	looks := func() int64 {
		s.watcher.mu.Lock()
		defer s.watcher.mu.Unlock()
		return s.watcher.looks
	}
	before, began := looks(), time.Now()
	time.Sleep(20 * s.Tick)
	if n, limit := looks()-before, int64(time.Since(began)/s.Tick)+2; n > limit || n < 1 {
		t.Errorf("%d looks, at most %d ticks", n, limit)
	}
	must(t, s.Store.SetApprovals(t.Context(), "root", "data", 2))
	for _, r := range open {
		lines := bufio.NewScanner(r.Body)
		heard := false
		for !heard && lines.Scan() {
			heard = lines.Text() == "event: changed"
		}
		if !heard {
			t.Error("a page is not told of a change")
		}
	}
	cancel()
	for _, r := range open {
		_ = r.Body.Close() // it was cut off
	}
	for range 200 {
		s.watcher.mu.Lock()
		running := s.watcher.running
		s.watcher.mu.Unlock()
		if !running {
			return
		}
		time.Sleep(s.Tick)
	}
	t.Error("it looks although nobody listens")
}

// TestChecksOfCertificates: a folder that takes long to check holds up nobody who asks for
// another, is checked once for all, and not again as long as it looks the same.
func TestChecksOfCertificates(t *testing.T) {
	var checks atomic.Int64
	end := make(chan struct{})
	s := newSite(t, nil)
	verify := s.Verify
	slow := s.run.Place
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
			if r := s.released("run", "slow", "", slow); r == nil || !r.OK() {
				t.Error("the slow one does not hold")
			}
		})
	}
	for checks.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	done := make(chan bool, 1)
	go func() { r := s.released("run", "other", "", other); done <- r != nil && r.OK() }()
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
	s.released("run", "slow", "", slow)
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

// TestDetailsOfEvents: which worker began a run, with its host and process, is for operators.
func TestDetailsOfEvents(t *testing.T) {
	s := newSite(t, nil)
	for name, want := range map[string]bool{"viewer-one": false, "operator-one": true} {
		b := s.signIn(t, name)
		if a := b.get("/runs/" + s.run.ID); strings.Contains(a.body, "worker 1") != want {
			t.Errorf("%s sees the worker: %v", name, !want)
		}
		if a := b.get("/runs"); !strings.Contains(a.body, "weekly") || strings.Contains(a.body, "/private/place") {
			t.Errorf("%s: schedules", name)
		}
	}
}
