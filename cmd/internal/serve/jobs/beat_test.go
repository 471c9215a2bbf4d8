//go:build unix

package jobs

import (
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

// TestBeats: beats are few, come no more than a quarter late, and never before what they show.
func TestBeats(t *testing.T) {
	const first = 10 * time.Second
	for since, want := range map[time.Duration]time.Duration{
		0: first, 1: first, first: first, first + 1: 2 * first, 8 * first: 8 * first, 8*first + 1: 10 * first,
		15 * first: 16 * first, 16*first + 1: 20 * first, 33 * first: 40 * first,
	} {
		if got := beatAfter(first, since); got != want {
			t.Errorf("after %v: %v, want %v", since, got, want)
		}
	}
	for limit, want := range map[time.Duration]int{time.Minute: 6, time.Hour: 29, 24 * time.Hour: 48} {
		n := 0
		for at := beatAfter(first, 0); at <= limit; at = beatAfter(first, at+1) {
			n++
			if late := beatAfter(first, at+1) - at; late > max(first, at/4) {
				t.Errorf("after %v the next beat is %v later", at, late)
			}
			if beatAfter(first, at) != at {
				t.Errorf("%v is no beat", at)
			}
		}
		if n != want {
			t.Errorf("%v has %d beats, want %d", limit, n, want)
		}
	}
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	strings.Builder
}

func (n *syncBuffer) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.Builder.Write(b)
}

func (n *syncBuffer) has(s string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(n.String(), s)
}

// TestEndsAtBeats: that a job has ended, well or not, is neither in the store nor in the log before a
// beat, nor does its worker begin another job, which would show it. The lease is kept meanwhile,
// and a worker that is to end does not wait.
func TestEndsAtBeats(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		state  store.JobState
	}{
		"done":   {`echo '{"event":"text","done":2,"texts":2}' >&2; echo $$ > $1/pid; echo '{}'`, store.Done},
		"failed": {`echo '{"event":"text","done":2,"texts":2}' >&2; echo $$ > $1/pid; exit 2`, store.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			log := &syncBuffer{}
			s := open(t, func(o *Options) {
				o.Beat, o.Log = time.Hour, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			})
			id := s.add(c.script)
			gone(t, s.pid(id))
			next := s.add(`echo '{}'`)
			other, err := store.Open(t.Context(), s.file, false)
			must(t, err)
			defer other.Close()
			// Three leases: a worker that did not keep its own would have lost the job.
			for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				j, err := s.store.Job(t.Context(), id)
				must(t, err)
				at := expect.At(t, "the store shows it before a beat")
				expect.Equal(at, "j.State", j.State, store.Running)
				expect.Equal(at, "j.Attempt", j.Attempt, 1)
				expect.True(at, "j.Ended is nil", j.Ended == nil, j.Ended)
				expect.Equal(at, "len(j.Progress)", len(j.Progress), 0)
				expect.Equal(at, "len(j.Result)", len(j.Result), 0)
				expect.Equal(at, "j.Error", j.Error, "")
				waits, err := s.store.Job(t.Context(), next)
				must(t, err)
				if waits.State != store.Waiting || log.has("ended") {
					t.Fatalf("the next job is %s, and the log says %s", waits.State, log)
				}
			}
			s.stop()
			if j := s.ended(id); j.State != c.state || string(j.Progress) != `{"event":"text","done":2,"texts":2}` {
				t.Errorf("%s at %s: %s", j.State, j.Progress, j.Error)
			}
		})
	}
}

// TestStepsAtBeats: steps are shown at beats, and the end at the beat after it.
func TestStepsAtBeats(t *testing.T) {
	const beat = time.Second
	s := open(t, func(o *Options) { o.Beat = beat })
	id := s.add(`echo '{"event":"round","round":1,"rounds":7}' >&2; while [ ! -e $1/go ]; do sleep 0.02; done; echo '{"event":"round","round":2,"rounds":7}' >&2; echo '{}'`)
	// What is seen before the first beat says nothing. The clock is that of the store, which notes
	// the begin before the worker knows of it.
	j := s.until(id, "at round 1", func(j store.Job) bool { return len(j.Progress) > 0 })
	if since := time.Since(*j.Started); since < beat {
		t.Errorf("a step is shown %v after the begin, before a beat of %v", since, beat)
	}
	must(t, os.WriteFile(filepath.Join(j.Place, "go"), nil, 0o600))
	j = s.ended(id)
	if took := j.Ended.Sub(*j.Started); took < 2*beat {
		t.Errorf("it took %v, which is no beat of %v", took, beat)
	}
}

// TestSaid: what a process says to people is in the job's folder, for its owner, and nowhere else.
func TestSaid(t *testing.T) {
	log := &syncBuffer{}
	s := open(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
	id := s.add(`echo '{"event":"resumed","message":"m"}' >&2; echo 'sotto: 3 malformed records: records 7, 9, 11' >&2; echo '{"error":"malformed records"}'; exit 2`)
	j := s.ended(id)
	if said := Said(j.Place); said != "sotto: 3 malformed records: records 7, 9, 11" || Failure(j.Place) != "malformed records" {
		t.Errorf("%q, %q", said, Failure(j.Place))
	}
	expect.Equal(t, "j.State", j.State, store.Failed)
	expect.True(t, "no malformed in j.Error", !strings.Contains(j.Error, "malformed"), j.Error)
	expect.True(t, "not log.has('malformed')", !log.has("malformed"))
}
