package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// serve starts a server with one handler and a wire to it.
func serve(t testing.TB, o Options, handler http.HandlerFunc) *wire {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return connect(t, server.URL, o)
}

func connect(t testing.TB, url string, o Options) *wire {
	t.Helper()
	o.URL = url
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	base, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(o.withDefaults(), base, "")
	t.Cleanup(w.close)
	return w
}

// quiet drops what a server has to say about broken connections.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

var ping = query{path: "/ping", body: object{"a": 1}}

func TestRetriedStatuses(t *testing.T) {
	for status := 400; status < 600; status++ {
		var requests atomic.Int64
		w := serve(t, Options{Retries: 3}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if string(body) != `{"a":1}` {
				t.Error("an attempt sent another body")
			}
			if requests.Add(1) <= 2 {
				w.WriteHeader(status)
				return
			}
			fmt.Fprint(w, `{"ok":true}`)
		})
		var out struct{ OK bool }
		err := w.ask(t.Context(), ping, &out)
		again := map[int]bool{408: true, 429: true, 500: true, 502: true, 503: true, 504: true}[status]
		var said *StatusError
		switch {
		case again && (err != nil || !out.OK || requests.Load() != 3):
			t.Errorf("%d: %d requests, error %v", status, requests.Load(), err)
		case !again && (!errors.As(err, &said) || said.Status != status || said.Attempts != 1 || requests.Load() != 1):
			t.Errorf("%d: %d requests, error %v", status, requests.Load(), err)
		}
	}
}

func TestRetriesEnd(t *testing.T) {
	for _, retries := range []int{-1, 1, 5} {
		var requests atomic.Int64
		w := serve(t, Options{Retries: retries}, func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		want := max(retries, 0) + 1
		expect.Equal(t, "attempts", expect.As[*StatusError](t, w.ask(t.Context(), ping, &object{})).Attempts, want)
		expect.Equal(t, "requests", int(requests.Load()), want)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0": 0, "-3": 0, "soon": 0, "1e9": 0, "99999999999999999999": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q means %v, not %v", value, got, want)
		}
	}
	var first, second time.Time
	w := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		if first.IsZero() {
			first = time.Now()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		second = time.Now()
		fmt.Fprint(w, "{}")
	})
	if err := w.ask(t.Context(), ping, &object{}); err != nil {
		t.Fatal(err)
	}
	if waited := second.Sub(first); waited < time.Second {
		t.Errorf("the server asked for a second and got %v", waited)
	}
	w = serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "86400")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	busy := expect.As[*StatusError](t, w.ask(t.Context(), ping, &object{}))
	expect.Equal(t, "attempts", busy.Attempts, 1)
	expect.Equal(t, "wait", busy.Wait, 24*time.Hour)
}

// cut answers with part of a body and breaks the connection.
func cut(w http.ResponseWriter, part string) {
	conn, buffer, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, _ = buffer.WriteString(part)
	_ = buffer.Flush()
}

func TestBrokenConnections(t *testing.T) {
	for name, part := range map[string]string{
		"at once":     "",
		"in the head": "HTTP/1.1 200 OK\r\nContent-Le",
		"in the body": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ok\":",
		"in a chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{\"ok\":",
	} {
		var requests atomic.Int64
		w := serve(t, Options{Retries: 2}, func(w http.ResponseWriter, _ *http.Request) {
			if requests.Add(1) <= 2 {
				cut(w, part)
				return
			}
			fmt.Fprint(w, `{"ok":true}`)
		})
		var out struct{ OK bool }
		expect.NoError(t, w.ask(t.Context(), ping, &out))
		expect.True(t, "broken "+name+": the whole reply", out.OK)
		expect.Equal(t, "broken "+name+": requests", requests.Load(), 3)
		w.options.Retries, w.options.Timeout = 0, time.Minute
		requests.Store(0)
		var broken *ConnectionError
		if err := w.ask(t.Context(), ping, &out); !errors.As(err, &broken) {
			t.Errorf("broken %s: %v", name, err)
		}
	}
}

// TestIdleConnections: a server that closes connections after a while is asked again
// over a new one, and that is not one of the retries.
func TestIdleConnections(t *testing.T) {
	var requests atomic.Int64
	w := serve(t, Options{Retries: -1}, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		cut(w, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	})
	for range 50 {
		if err := w.ask(t.Context(), ping, &object{}); err != nil {
			t.Fatal(err)
		}
	}
	if requests.Load() != 50 {
		t.Errorf("%d requests for 50 questions", requests.Load())
	}
}

func TestRefusedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	listener.Close()
	_, err = Dial(t.Context(), Options{URL: url, Retries: 2, Backoff: time.Millisecond})
	expect.Equal(t, "attempts", expect.As[*ConnectionError](t, err).Attempts, 3)
	expect.True(t, "a refused connection", errors.Is(err, syscall.ECONNREFUSED), err)
}

// TestBadReplies checks that answers which are not the interface's are final errors.
func TestBadReplies(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":    "",
		"text":       "hello",
		"HTML":       "<html><body>Welcome</body></html>",
		"cut JSON":   `{"choices":[{"index":0,`,
		"a NaN":      `{"n":NaN}`,
		"other type": `{"n":"one"}`,
		"two values": `{"n":1}{"n":2}`,
		"deep":       strings.Repeat("[", 100000),
		"huge":       `{"n":1,"pad":"` + strings.Repeat("x", 5000) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			w := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				fmt.Fprint(w, body)
			})
			q := ping
			q.limit = 4096
			var out struct {
				N int `json:"n"`
			}
			var wrong *ReplyError
			if err := w.ask(t.Context(), q, &out); !errors.As(err, &wrong) || requests.Load() != 1 {
				t.Errorf("%s: %d requests, error %v", name, requests.Load(), err)
			}
		})
	}
}

func TestAttemptDeadline(t *testing.T) {
	release := make(chan struct{})
	var requests atomic.Int64
	w := serve(t, Options{Timeout: 100 * time.Millisecond, Retries: 2}, func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		<-release
	})
	defer close(release)
	err := w.ask(t.Context(), ping, &object{})
	expect.Equal(t, "attempts", expect.As[*ConnectionError](t, err).Attempts, 3)
	expect.True(t, "a deadline exceeded", errors.Is(err, os.ErrDeadlineExceeded), err)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the deadline of an attempt looks like that of the caller")
	}
}

// TestCancel: the handler continues only after the call has come back, so that a call
// which waits for the server would never end.
func TestCancel(t *testing.T) {
	for _, body := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"} {
		release, begun := make(chan struct{}), make(chan struct{}, 1)
		w := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			if body != "" {
				conn, buffer, _ := w.(http.Hijacker).Hijack()
				defer conn.Close()
				_, _ = buffer.WriteString(body)
				_ = buffer.Flush()
			}
			begun <- struct{}{}
			<-release
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		if err := w.ask(ctx, ping, &object{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call: %v", err)
		}
		close(release)
	}
	// Between attempts.
	ctx, cancel := context.WithCancel(t.Context())
	w := serve(t, Options{Backoff: time.Hour}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		cancel()
	})
	if err := w.ask(ctx, ping, &object{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call cancelled between attempts: %v", err)
	}
}

func TestCloseEndsRequests(t *testing.T) {
	toy, url := newToy(t, VLLM)
	s := dialScorer(t, url, Options{})
	session, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q, _ := session.New()
	release, begun := make(chan struct{}), make(chan struct{}, 1)
	toy.mu.Lock()
	toy.fault = func(http.ResponseWriter, *http.Request, int64) bool {
		begun <- struct{}{}
		<-release
		return true
	}
	toy.mu.Unlock()
	defer close(release)
	go func() { <-begun; s.Close() }()
	if _, err := session.Step(t.Context(), []lm.Step{{Sequence: q, Tokens: []lm.Token{1}, Ask: lm.Ask{Top: 1}}}); !errors.Is(err, lm.ErrClosed) {
		t.Errorf("a step whose model is closed: %v", err)
	}
	if _, err := s.Open(t.Context()); !errors.Is(err, lm.ErrClosed) {
		t.Errorf("open after close: %v", err)
	}
	if _, err := s.Generate(t.Context(), []lm.Prompt{{Tokens: []lm.Token{1}}}, lm.GenerateOptions{MaxTokens: 1}); !errors.Is(err, lm.ErrClosed) {
		t.Errorf("generate after close: %v", err)
	}
	if _, err := session.New(); !errors.Is(err, lm.ErrClosed) {
		t.Errorf("a session after close: %v", err)
	}
}

// TestConcurrentRequests checks that requests are bounded, and that connections are used again.
func TestConcurrentRequests(t *testing.T) {
	var now, highest, connections atomic.Int64
	var together sync.WaitGroup
	together.Add(3)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := highest.Load(); n > old && !highest.CompareAndSwap(old, n); old = highest.Load() {
		}
		if i, _ := strconv.Atoi(r.URL.Path[1:]); i < 3 {
			together.Done() // the first three only continue together
			together.Wait()
		}
		fmt.Fprint(w, "{}")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	w := connect(t, server.URL, Options{Concurrency: 3})
	err := each(t.Context(), 20, 60, func(ctx context.Context, i int) error {
		return w.ask(ctx, query{path: fmt.Sprintf("/%d", i)}, &object{})
	})
	if err != nil {
		t.Fatal(err)
	}
	if highest.Load() != 3 || connections.Load() > 4 {
		t.Errorf("%d requests at a time over %d connections, bound 3", highest.Load(), connections.Load())
	}
}

func TestNoGoroutineStays(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 5 {
		toy, url := newToyServer(VLLM)
		c, err := Dial(t.Context(), Options{URL: url.URL, Backoff: time.Millisecond, Retries: 1})
		if err != nil {
			t.Fatal(err)
		}
		toy.mu.Lock()
		toy.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
			if n%3 != 0 {
				cut(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
				return true
			}
			return false
		}
		toy.mu.Unlock()
		prompts := make([]lm.Prompt, 20)
		for j := range prompts {
			prompts[j] = lm.Prompt{Text: strings.Repeat("x", i+j+1)}
		}
		_, _ = c.Generate(t.Context(), prompts, lm.GenerateOptions{MaxTokens: 2, OnText: func(int, string) error { return nil }})
		c.Close()
		url.Close()
	}
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}
