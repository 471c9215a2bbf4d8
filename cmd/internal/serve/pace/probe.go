package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/sys/fault"
)

// probe polls an address about every millisecond, and prints when and how long it took.
func probe(address string) {
	out := bufio.NewWriter(os.Stdout)
	ended := make(chan struct{})
	go func() {
		defer fault.Watch()
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is all there is to know
		close(ended)
	}()
	for {
		select {
		case <-ended:
			_ = out.Flush() // anyone who started this finds lines missing
			return
		case <-time.After(time.Millisecond):
		}
		began := time.Now()
		r, err := http.Get(address + "/healthz")
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		fmt.Fprintln(out, began.UnixNano(), time.Since(began).Nanoseconds())
	}
}

// observation is what a probe saw: when, in seconds after a question, and how long it took.
type observation struct{ at, latency float64 }

// estimates of when an answer was written, from what probes saw until it was handed out.
var estimates = []struct {
	name string
	of   func([]observation) float64
}{
	{"when latencies change most", change},
	{"sum of all latencies", func(all []observation) (sum float64) {
		for _, s := range all {
			sum += s.latency
		}
		return sum
	}},
	{"number of probes", func(all []observation) float64 { return float64(len(all)) }},
	{"last probe slower than nine in ten", func(all []observation) (last float64) {
		sorted := make([]float64, len(all))
		for i, s := range all {
			sorted[i] = s.latency
		}
		slices.Sort(sorted)
		for _, s := range all {
			if s.latency >= sorted[len(sorted)*9/10] {
				last = s.at
			}
		}
		return last
	}},
}

// change is the moment before and after which the logarithms of latencies differ most, by their
// means, in units of what chance makes of them.
func change(all []observation) (at float64) {
	var total, before, best float64
	for _, s := range all {
		total += math.Log(s.latency)
	}
	n := float64(len(all))
	for i, s := range all {
		before += math.Log(s.latency)
		k := float64(i + 1)
		if k < 5 || k > n-5 {
			continue
		}
		difference := before/k - (total-before)/(n-k)
		if gain := difference * difference * k * (n - k) / n; gain > best {
			best, at = gain, s.at
		}
	}
	return at
}

func measure(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "pace")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := start(ctx, dir, o)
	if err != nil {
		return err
	}
	child := exec.Command(os.Args[0], "-probe", s.address)
	input, err := child.StdinPipe()
	if err != nil {
		return err
	}
	var printed strings.Builder
	child.Stdout, child.Stderr = &printed, os.Stderr
	if err := child.Start(); err != nil {
		return err
	}
	var all []timing
	for range o.n + 1 {
		time.Sleep(200 * time.Millisecond)
		a, err := s.ask()
		if err != nil {
			return err
		}
		all = append(all, a)
	}
	all = all[1:] // the first one makes what is made once
	if err := input.Close(); err != nil {
		return err
	}
	if err := child.Wait(); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	probes := make([][]observation, len(all))
	for line := range strings.Lines(printed.String()) {
		var at, latency int64
		if _, err := fmt.Sscan(line, &at, &latency); err != nil {
			return err
		}
		for i, a := range all {
			if since := time.Unix(0, at).Sub(a.began); since >= 0 && since < a.took {
				probes[i] = append(probes[i], observation{since.Seconds(), float64(latency) / 1e9})
			}
		}
	}
	times, tokens := make([]float64, len(all)), make([]float64, len(all))
	one := 0
	for i, a := range all {
		times[i], tokens[i] = a.wrote.Seconds(), float64(a.tokens)
		if a.wrote <= s.pace {
			one++
		}
	}
	fmt.Printf("%d answers, of %.0f to %.0f tokens, written after %.2f to %.2f s; %d took one pace\n",
		len(all), slices.Min(tokens), slices.Max(tokens), slices.Min(times), slices.Max(times), one)
	fmt.Println("correlation with the tokens, and with the time (and by chance as large)")
	for _, e := range estimates {
		guesses := make([]float64, len(all))
		for i := range all {
			guesses[i] = e.of(probes[i])
		}
		r, s := correlation(tokens, guesses), correlation(times, guesses)
		fmt.Printf("  %-36s %+.3f (%.3f)  %+.3f (%.3f)\n", e.name, r, byChance(tokens, guesses, r), s, byChance(times, guesses, s))
	}
	return nil
}

// correlation is Pearson's.
func correlation(x, y []float64) float64 {
	var mx, my, xy, xx, yy float64
	for i := range x {
		mx, my = mx+x[i]/float64(len(x)), my+y[i]/float64(len(x))
	}
	for i := range x {
		xy, xx, yy = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx), yy+(y[i]-my)*(y[i]-my)
	}
	return xy / math.Sqrt(xx*yy)
}

// byChance is the share of orders of the guesses whose correlation is at least as large.
func byChance(truth, guesses []float64, r float64) float64 {
	const orders = 10000
	mixed, as := slices.Clone(guesses), 0
	for range orders {
		rand.Shuffle(len(mixed), func(i, k int) { mixed[i], mixed[k] = mixed[k], mixed[i] })
		if math.Abs(correlation(truth, mixed)) >= math.Abs(r) {
			as++
		}
	}
	return float64(as) / orders
}
