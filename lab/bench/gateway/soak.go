package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// soakResult is what ten minutes with a failing upstream came to.
type soakResult struct {
	span                  time.Duration
	requests, wrong       int64
	kinds                 map[string]int64
	memory                []int64 // MB, every five seconds
	goroutines, openFiles [2]int  // near the beginning and at the end
}

// soak asks while the upstream fails: it dies, is slow, refuses, sends what is malformed, cuts its
// answers off and sends lines without end; and clients leave.
func soak(ctx context.Context, s *sotto, span time.Duration) (out *soakResult, err error) {
	c, clients, admin, err := s.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	out = &soakResult{span: span, kinds: map[string]int64{}}
	end := time.Now().Add(span)
	var mu sync.Mutex
	var requests, wrong atomic.Int64
	var wg sync.WaitGroup
	for worker := range 32 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for time.Now().Before(end) && ctx.Err() == nil {
				kind, err := strange(target{name: "Sotto", address: clients, key: s.key, model: "atonce-demos"}, random)
				requests.Add(1)
				if err != nil {
					wrong.Add(1)
					fmt.Fprintf(os.Stderr, "%s: %v\n", kind, err)
				}
				mu.Lock()
				out.kinds[kind]++
				mu.Unlock()
			}
		})
	}
	watching := func() error {
		for first := true; time.Now().Before(end) && ctx.Err() == nil; {
			time.Sleep(min(5*time.Second, span/10))
			mb, files, err := process(c.Process.Pid)
			if err != nil {
				return err
			}
			out.memory = append(out.memory, mb)
			n, err := goroutines(admin)
			if err != nil {
				return err
			}
			if first && len(out.memory) >= 6 {
				out.goroutines[0], out.openFiles[0], first = n, files, false
			}
		}
		return nil
	}
	err = watching()
	wg.Wait()
	out.requests, out.wrong = requests.Load(), wrong.Load()
	if err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second)
	if out.goroutines[1], err = goroutines(admin); err != nil {
		return nil, err
	}
	_, out.openFiles[1], err = process(c.Process.Pid)
	return out, err
}

// strange makes one request, well or with a fault, and says whether what came is what should.
func strange(t target, random *rand.Rand) (kind string, err error) {
	kind = "well"
	if random.IntN(2) == 0 {
		kind = append(slices.Clone(faults), "leaves")[random.IntN(len(faults)+1)]
	}
	stream := random.IntN(2) == 0
	ask := question
	if kind != "well" && kind != "leaves" {
		ask += " fault-" + kind
	}
	c, err := net.DialTimeout("tcp", t.address, 10*time.Second)
	if err != nil {
		return kind, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // it is a TCP connection
	if _, err := c.Write(t.request(ask, stream)); err != nil {
		return kind, err
	}
	if kind == "leaves" {
		return kind, nil
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return kind, err
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return kind, err
	}
	return kind, expected(kind, stream, r.StatusCode, string(data))
}

// expected says what is wrong with what a client got.
func expected(kind string, stream bool, status int, text string) error {
	complete := status == http.StatusOK && strings.Contains(text, "billing") && strings.Contains(text, `"sotto":{`)
	whole := complete && (!stream || strings.HasSuffix(text, "data: [DONE]\n\n"))
	broken := status == http.StatusBadGateway || stream && complete && strings.Contains(text, `"error":{`) && !strings.Contains(text, "[DONE]")
	fine := false
	switch kind {
	case "well", "slow":
		fine = whole
	case "malformed": // it is not for a gateway to judge what a stream's events hold
		fine = stream && complete || !stream && status == http.StatusOK && !strings.Contains(text, `"sotto"`)
	default:
		fine = broken
	}
	if !fine {
		return errors.New("status " + strconv.Itoa(status) + ", another answer than should come")
	}
	return nil
}

// process returns the memory of one in MB, and how many files it has open.
func process(pid int) (mb int64, files int, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, is := strings.CutPrefix(line, "VmRSS:"); is {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0, 0, err
			}
			mb = kb >> 10
		}
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return mb, len(open), err
}

// goroutines asks the metrics.
func goroutines(admin string) (int, error) {
	r, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if rest, is := strings.CutPrefix(lines.Text(), "go_goroutines "); is {
			return strconv.Atoi(rest)
		}
	}
	return 0, errors.New("the metrics do not say how many goroutines there are")
}
