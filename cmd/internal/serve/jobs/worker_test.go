//go:build unix

package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/sys/expect"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shop is a store with a worker whose jobs are shell scripts.
type shop struct {
	t     *testing.T
	store *store.Store
	file  string // of the store
	dir   string
	stop  func()
}

func open(t *testing.T, change func(*Options)) *shop {
	t.Helper()
	s := &shop{t: t, file: filepath.Join(t.TempDir(), "service.db"), dir: filepath.Join(t.TempDir(), "jobs")}
	var err error
	s.store, err = store.Open(t.Context(), s.file, true)
	must(t, err)
	o := Options{
		Store: s.store, Dir: s.dir, Env: os.Environ(), Poll: 10 * time.Millisecond, Wait: 10 * time.Millisecond, Lease: time.Second, Beat: 20 * time.Millisecond, Grace: 5 * time.Second,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Command: func(_ context.Context, j *store.Job, place string) (Command, error) {
			var script string
			if err := json.Unmarshal(j.Work, &script); err != nil {
				return Command{}, err
			}
			return Command{Args: []string{"/bin/sh", "-c", script, "sh", place}, Input: []byte("input"), Published: []string{"epsilon", "texts"}}, nil
		},
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := Run(ctx, o); err != nil {
			t.Error(err)
		}
	})
	s.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(func() { s.stop(); _ = s.store.Close() })
	return s
}

func (s *shop) add(script string) string {
	s.t.Helper()
	work, err := json.Marshal(script)
	must(s.t, err)
	j, err := s.store.AddJob(s.t.Context(), "ann", store.Job{Name: "script", Work: work})
	must(s.t, err)
	return j.ID
}

// until waits for a job to be as it should.
func (s *shop) until(id, what string, is func(store.Job) bool) store.Job {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		j, err := s.store.Job(s.t.Context(), id)
		must(s.t, err)
		if is(j) {
			return j
		}
		if time.Now().After(end) {
			s.t.Fatalf("the job is never %s: %+v", what, j)
		}
	}
}

func (s *shop) ended(id string) store.Job {
	s.t.Helper()
	return s.until(id, "over", func(j store.Job) bool { return j.State.Ended() })
}

// TestEndings: what an exit code makes of a job.
func TestEndings(t *testing.T) {
	s := open(t, nil)
	for script, want := range map[string]struct {
		state    store.JobState
		failures int64
		says     string
	}{
		`echo '{"epsilon":1}'`:                         {store.Done, 0, ""},
		`[ "$(cat)" = input ] && echo '{"epsilon":1}'`: {store.Done, 0, ""},
		`echo '{"error":"no such task"}'; exit 2`:      {store.Failed, 0, "cannot be used"},
		`echo '{"error":"refused"}'; exit 3`:           {store.Failed, 0, "refused"},
		`echo '{"error":"it is forged"}'; exit 4`:      {store.Failed, 0, "not what it should be"},
		`echo '{"error":"no connection"}'; exit 1`:     {store.Failed, 4, "it failed"},
		`echo '{"a":1}'; echo '{"error":"b"}'; exit 2`: {store.Failed, 0, "cannot be used"},
		`kill -9 $$`: {store.Failed, 4, "signal: killed"},
		// The third time it succeeds.
		`echo x >> $1/tries; [ $(wc -l < $1/tries) = 3 ] || exit 1; echo '{}'`: {store.Done, 2, ""},
	} {
		j := s.ended(s.add(script))
		at := expect.At(t, "%s", script)
		expect.Equal(at, "j.State", j.State, want.state)
		expect.Equal(at, "j.Failures", j.Failures, want.failures)
		expect.Contains(at, "j.Error", j.Error, want.says)
		expect.Equal(at, "(want.says == '')", (want.says == ""), (j.Error == ""))
	}
}

// TestOnlyWhatIsPublic: of what a process prints, the store and the log get which step it is at,
// and the result without what depends on records and places.
func TestOnlyWhatIsPublic(t *testing.T) {
	var log strings.Builder
	s := open(t, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	const canary = "zebra4711"
	id := s.add(`
echo '{"event":"notice","message":"left out: 3 records with zebra""4711"}' >&2
echo 'zebra''4711 on a line of its own' >&2
echo '{"event":"text","done":2,"texts":5,"tokens":41,"condition":"zebra""4711","message":"zebra""4711"}' | tr -d '\n' >&2; echo >&2
echo '{"event":"judged","round":1,"rounds":4,"message":"x"}' >&2
head -c 200000 /dev/zero | tr '\0' 'z' >&2; echo >&2
echo '{"event":"zebra''4711"}' >&2
C=zebra; printf '{"epsilon":1.5,"warnings":["%s4711"],"dir":"%s4711","usage":{"a":"%s4711"},"texts":["released"]}' $C $C $C`)
	j := s.ended(id)
	if j.State != store.Done || string(j.Result) != `{"epsilon":1.5,"texts":["released"]}` {
		t.Errorf("%s %s: %s", j.State, j.Result, j.Error)
	}
	s.stop()
	// The store is a database with a journal beside it: all files of it.
	must(t, s.store.Close())
	files, err := filepath.Glob(s.file + "*")
	must(t, err)
	for _, name := range files {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the journal goes with the last connection
		}
		must(t, err)
		if strings.Contains(string(data), canary) {
			t.Errorf("%s holds what a process printed", filepath.Base(name))
		}
	}
	if strings.Contains(log.String(), canary) {
		t.Errorf("the log: %s", log.String())
	}
}

// TestProgress: while a process works, the store says which step it is at.
func TestProgress(t *testing.T) {
	s := open(t, nil)
	id := s.add(`echo '{"event":"round","round":2,"rounds":7,"examples":3}' >&2; while [ ! -e $1/go ]; do sleep 0.02; done; echo '{}'`)
	j := s.until(id, "at round 2", func(j store.Job) bool { return strings.Contains(string(j.Progress), `"round":2`) })
	if string(j.Progress) != `{"event":"round","round":2,"rounds":7}` || j.Place != filepath.Join(s.dir, id) {
		t.Errorf("%s in %s", j.Progress, j.Place)
	}
	must(t, os.WriteFile(filepath.Join(j.Place, "go"), nil, 0o600))
	s.ended(id)
}

// slow writes down its process, says that it is at work, and takes a while.
const slow = `echo $$ > $1/pid; while :; do sleep 0.02; done`

// pid is the process of a job, once it has one.
func (s *shop) pid(id string) string {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if data, err := os.ReadFile(filepath.Join(s.dir, id, "pid")); err == nil && len(data) > 1 {
			return strings.TrimSpace(string(data))
		}
	}
	s.t.Fatal("the process did not begin")
	return ""
}

// alive reports whether there is such a process.
func alive(pid string) bool {
	data, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err == nil && !strings.Contains(string(data), ") Z ")
}

// gone waits for a process to be.
func gone(t *testing.T, pid string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the process continues")
		}
	}
}

// TestCancelled: a process is asked to end, and made to if it does not.
func TestCancelled(t *testing.T) {
	s := open(t, func(o *Options) { o.Grace = 200 * time.Millisecond })
	for _, script := range []string{slow, "trap '' INT; " + slow} {
		id := s.add(script)
		pid := s.pid(id)
		must(t, s.store.CancelJob(t.Context(), "ann", id))
		if j := s.ended(id); j.State != store.Cancelled {
			t.Errorf("%s: %s", j.State, j.Error)
		}
		gone(t, pid)
	}
}

// TestWorkerEnds: a worker that is to end lets its job go, and the next one continues with it.
func TestWorkerEnds(t *testing.T) {
	s := open(t, nil)
	id := s.add(slow)
	pid := s.pid(id)
	s.stop()
	gone(t, pid)
	j, err := s.store.Job(t.Context(), id)
	must(t, err)
	expect.Equal(t, "j.State", j.State, store.Waiting)
	expect.Equal(t, "j.Failures", j.Failures, 0)
	expect.Equal(t, "j.Attempt", j.Attempt, 1)
}

// TestSilentStore: a worker that cannot say that it is there ends its process before its lease
// has run out, and one that lost its job does so at once.
func TestSilentStore(t *testing.T) {
	s := open(t, func(o *Options) { o.Lease = 2 * time.Second })
	id := s.add(slow)
	pid := s.pid(id)
	other, err := store.Open(t.Context(), s.file, false)
	must(t, err)
	defer other.Close()
	must(t, s.store.Close()) // as if the database were away
	for end := time.Now().Add(20 * time.Second); alive(pid); time.Sleep(5 * time.Millisecond) {
		if j, err := other.Claim(t.Context(), "another", time.Minute); err != nil || j != nil {
			t.Fatalf("another worker has the job while the process continues: %v", err)
		}
		if time.Now().After(end) {
			t.Fatal("the process continues")
		}
	}
	s.stop()
}

// TestFolderInUse: a process that is left over keeps others out of its folder, and that is no
// failure of the job.
func TestFolderInUse(t *testing.T) {
	dir := ""
	s := open(t, func(o *Options) { dir = o.Dir; o.Poll = 50 * time.Millisecond })
	s.stop()
	id := s.add(`echo '{}'`)
	place := filepath.Join(dir, id)
	must(t, os.MkdirAll(place, 0o700))
	hold, err := lockPlace(place)
	must(t, err)
	w := &worker{Options: Options{Store: s.store, Dir: dir, Lease: time.Minute, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Command: func(context.Context, *store.Job, string) (Command, error) {
		return Command{Args: []string{"/bin/true"}}, nil
	}}, name: "w"}
	if _, err := w.next(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, err := s.store.Job(t.Context(), id)
	must(t, err)
	expect.Equal(t, "j.State", j.State, store.Waiting)
	expect.Equal(t, "j.Failures", j.Failures, 0)
	expect.True(t, "j.Due.After(time.Now())", j.Due.After(time.Now()), time.Now())
	hold.close()
}
