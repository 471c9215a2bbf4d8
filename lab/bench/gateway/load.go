package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// target is something that answers chats.
type target struct {
	name, address, key, model string
	// asks is another question than the one that all ask, if it is set.
	asks string
	// alone: no upstream is asked, so that answers do not say how long one took.
	alone bool
}

// request is a whole one as it goes over the wire.
func (t target) request(question string, stream bool) []byte {
	mode := ""
	if stream {
		mode = `"stream":true,`
	}
	body := fmt.Sprintf(`{"model":%q,%s"messages":[{"role":"user","content":%q}]}`, t.model, mode, question)
	return fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", t.address, t.key, len(body), body)
}

// question is what all ask: a sentence as clients send them.
const question = "I was charged twice for the same order last week and nobody has answered my messages since. Which team is this for?"

// loadResult is what a load came to.
type loadResult struct {
	rate float64 // requests a second
	// p50 and p99 are of how long answers took beyond the upstream's own time.
	p50, p99 time.Duration
	failed   int
}

// load asks with so many connections, each one question after the other, for so long.
func load(ctx context.Context, t target, connections int, span time.Duration) (loadResult, error) {
	ctx, cancel := context.WithTimeout(ctx, span+time.Minute)
	defer cancel()
	wire := t.request(cmp.Or(t.asks, question), false)
	var mu sync.Mutex
	var all []time.Duration
	failed := 0
	var wg sync.WaitGroup
	began := time.Now()
	end := began.Add(span)
	for range connections {
		wg.Go(func() {
			times, bad := one(ctx, t, wire, end)
			mu.Lock()
			defer mu.Unlock()
			all, failed = append(all, times...), failed+bad
		})
	}
	wg.Wait()
	elapsed := time.Since(began)
	if len(all) == 0 {
		return loadResult{}, fmt.Errorf("%s answered nothing", t.name)
	}
	slices.Sort(all)
	return loadResult{rate: float64(len(all)) / elapsed.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100], failed: failed}, nil
}

// one uses one connection.
func one(ctx context.Context, t target, wire []byte, end time.Time) (times []time.Duration, failed int) {
	var c net.Conn
	var in *bufio.Reader
	defer func() {
		if c != nil {
			_ = c.Close() // nothing is written any more
		}
	}()
	for time.Now().Before(end) && ctx.Err() == nil {
		if c == nil {
			var err error
			if c, err = net.DialTimeout("tcp", t.address, 10*time.Second); err != nil {
				failed++
				time.Sleep(10 * time.Millisecond)
				continue
			}
			in = bufio.NewReader(c)
		}
		began := time.Now()
		_ = c.SetDeadline(began.Add(time.Minute)) // it is a TCP connection
		status, thought, again, err := exchange(c, in, wire, t.alone)
		if err != nil || status != http.StatusOK {
			failed++
		} else {
			times = append(times, time.Since(began)-thought)
		}
		if err != nil || !again {
			_ = c.Close() // it is of no more use
			c = nil
		}
	}
	return times, failed
}

// exchange sends a request and reads its answer, which says how long the upstream thought; again
// says that the connection can be used again.
func exchange(c net.Conn, in *bufio.Reader, wire []byte, alone bool) (status int, thought time.Duration, again bool, err error) {
	if _, err := c.Write(wire); err != nil {
		return 0, 0, false, err
	}
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, 0, false, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode == http.StatusOK && !alone {
		_, said, _ := bytes.Cut(text, []byte("billing "))
		n, failed := strconv.Atoi(string(said[:min(9, len(said))]))
		if thought = time.Duration(n); failed != nil {
			err = fmt.Errorf("another answer than the upstream's")
		}
	}
	return r.StatusCode, thought, err == nil && !r.Close, err
}
