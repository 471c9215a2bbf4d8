package remote

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// replicas are toys behind one address, which asks them in turn, as plain balancers do.
type replicas struct {
	toys    []*toy
	servers []*httptest.Server
	next    atomic.Int64
	// hides keeps the replicas' counters from clients.
	hides bool
}

func newReplicas(t testing.TB, n int) (*replicas, string) {
	t.Helper()
	r := &replicas{}
	var ways []*httputil.ReverseProxy
	for i := range n {
		s, server := newToyServer(VLLM)
		t.Cleanup(server.Close)
		s.began = 1.7e9 + float64(i)/8
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		way := httputil.NewSingleHostReverseProxy(u)
		way.ErrorLog = quiet()
		r.toys, r.servers, ways = append(r.toys, s), append(r.servers, server), append(ways, way)
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if r.hides && q.URL.Path == "/metrics" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		ways[int(r.next.Add(1))%len(ways)].ServeHTTP(w, q)
	}))
	t.Cleanup(front.Close)
	return r, front.URL
}

// fault has a replica answer requests for scores in another way.
func (r *replicas) fault(i int, f func(w http.ResponseWriter, q *http.Request) bool) {
	s := r.toys[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = func(w http.ResponseWriter, q *http.Request, _ int64) bool {
		return q.URL.Path == "/v1/completions" && f(w, q)
	}
}

// sameScores compares with what one server says.
func sameScores(t *testing.T, got []lm.Scores, n int) {
	t.Helper()
	_, url := newToy(t, VLLM)
	trusted, err := lm.Trust(dialScorer(t, url, Options{}), lm.Declared)
	if err != nil {
		t.Fatal(err)
	}
	want, err := askAll(t, trusted, n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !slices.Equal(got[i].LogProbs, want[i].LogProbs) {
			t.Errorf("prompt %d: the scores depend on who answers", i)
		}
	}
}

func trustReplicas(t *testing.T, url string, o Options) lm.TrustedScorer {
	t.Helper()
	trusted, err := lm.Trust(dialScorer(t, url, o), lm.Declared)
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}

// TestReplicas: several servers behind one address, all of them asked, give the scores of
// one; for private records the operator's word is needed, because nobody can watch them.
func TestReplicas(t *testing.T) {
	r, url := newReplicas(t, 3)
	r.hides = true
	var unknown *lm.NotIsolatedError
	if _, err := isolate(t, url, Options{}); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "exclusive = true") {
		t.Errorf("without the operator's word: %v", err)
	}
	got, err := isolate(t, url, Options{Exclusive: true})
	if err != nil || got.Isolation() != lm.Exclusive {
		t.Fatalf("isolated %q, %v", got.Isolation(), err)
	}
	scores, err := askAll(t, got.Model(), 5)
	if err != nil {
		t.Fatal(err)
	}
	sameScores(t, scores, 5)
	for i, s := range r.toys {
		if s.scored.Load() == 0 {
			t.Errorf("replica %d was not asked", i)
		}
	}
}

// TestReplicasAreNotWatched: counters of one replica say nothing about another, so that an
// address with several is never taken for a server that was watched, however their counters
// stand to each other.
func TestReplicasAreNotWatched(t *testing.T) {
	for ahead := range int64(8) {
		r, url := newReplicas(t, 2)
		r.toys[1].ended.Store(ahead)
		var several *lm.NotIsolatedError
		got, err := isolate(t, url, Options{Backoff: time.Microsecond})
		if err == nil {
			_, err = askAll(t, got.Model(), 3)
		}
		if !errors.As(err, &several) || !strings.Contains(err.Error(), "several servers") {
			t.Errorf("counters apart by %d: %v", ahead, err)
		}
	}
}

// TestReplicaDiffers: a replica whose scores are others, if only in their last digits,
// fails the check before a run.
func TestReplicaDiffers(t *testing.T) {
	r, url := newReplicas(t, 3)
	r.hides = true
	r.toys[2].mixes = func(_, _ int64) float64 { return 1e-9 }
	var leaks *lm.NotIsolatedError
	if _, err := isolate(t, url, Options{Exclusive: true}); !errors.As(err, &leaks) || !strings.Contains(err.Error(), "scores came out otherwise") {
		t.Errorf("a replica that differs: %v", err)
	}
	if c, err := lm.Compare(t.Context(), dialScorer(t, url, Options{})); err != nil || c.Different == 0 {
		t.Errorf("asked in batches: %+v, %v", c, err)
	}
}

func breakOff(w http.ResponseWriter, _ *http.Request) bool {
	cut(w, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
	return true
}

// stall answers nothing until the client has gone, which is noticed once all was read.
func stall(_ http.ResponseWriter, q *http.Request) bool {
	_, _ = io.Copy(io.Discard, q.Body)
	<-q.Context().Done()
	return true
}

// TestReplicaFails: one replica of three dies, refuses, stalls or breaks off. Prompts that
// may be asked in batches are asked again and come out the same. A request that has to be
// alone is not repeated, because the first may still be running somewhere: the run stops
// with an error that says what happened.
func TestReplicaFails(t *testing.T) {
	refuse := func(status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
			return true
		}
	}
	for name, fails := range map[string]func(r *replicas){
		"dead":           func(r *replicas) { r.servers[1].Close() },
		"429":            func(r *replicas) { r.fault(1, refuse(429)) },
		"503":            func(r *replicas) { r.fault(1, refuse(503)) },
		"breaks off":     func(r *replicas) { r.fault(1, breakOff) },
		"stalls":         func(r *replicas) { r.fault(1, stall) },
		"slow, but well": func(r *replicas) { r.toys[1].pause = 20 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			r, url := newReplicas(t, 3)
			r.hides = true
			o := Options{Retries: 8, Backoff: time.Millisecond, Timeout: 500 * time.Millisecond, Concurrency: 4}
			together := trustReplicas(t, url, o)
			o.Exclusive = true
			alone, err := isolate(t, url, o)
			if err != nil {
				t.Fatal(err)
			}
			fails(r)
			scores, err := askAll(t, together, 12)
			if err != nil {
				t.Fatalf("asked in batches: %v", err)
			}
			sameScores(t, scores, 12)
			// Of four requests in turn one meets the replica that fails.
			scores, err = askAll(t, alone.Model(), 4)
			if name == "slow, but well" {
				if err != nil {
					t.Fatal(err)
				}
				sameScores(t, scores, 4)
				return
			}
			var refused *StatusError
			var broken *ConnectionError
			if !errors.As(err, &refused) && !errors.As(err, &broken) {
				t.Errorf("asked alone: %v", err)
			}
			if err != nil && strings.Contains(fmt.Sprint(err), "a b") {
				t.Error("the error holds a prompt")
			}
		})
	}
}

// TestReplicaCounters: a replica whose counter is ahead of another's by just as many
// requests as were sent is not taken for the one that answered them.
func TestReplicaCounters(t *testing.T) {
	r, _ := newReplicas(t, 2)
	d := &vllm{}
	clients := []*Client{dial(t, r.servers[0].URL, Options{}), dial(t, r.servers[1].URL, Options{})}
	look := func(i int) snapshot {
		seen, err := d.look(t.Context(), clients[i])
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	before := look(0)
	r.toys[1].ended.Store(r.toys[0].ended.Load() + 2)
	if quiet, more := d.quiet(before, look(1), workload{prompts: 2}); quiet || more {
		t.Error("another replica's counter was taken for this one's")
	}
	r.toys[0].ended.Add(2)
	if quiet, _ := d.quiet(before, look(0), workload{prompts: 2}); !quiet {
		t.Error("a replica is not known again")
	}
}
