// Command scale measures what a run costs beside its model, from a thousand records on: enrolling them, opening them
// again, a round's draw, planning, adding all of them up, and the ledger. Records are made up; a model and an encoder
// take no time, so that what is left is ours.
//
//	go run ./bench/scale -sizes 1000,100000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/harness"
)

func main() {
	var b bench
	sizes := flag.String("sizes", "1000,10000,100000,1000000", "numbers of records, separated by commas")
	flag.Int64Var(&b.sums, "sums", 8, "how often all records are added up; plans have 4 to 32, and 0 leaves it out")
	flag.StringVar(&b.profile, "profile", "", "write a profile of the processors to this file")
	flag.StringVar(&b.parent, "dir", "", "make files in this folder (default: the system's for temporary files)")
	out := harness.Out()
	harness.Main(func(ctx context.Context) error {
		stop, err := b.profiled()
		if err != nil {
			return err
		}
		defer stop()
		text, err := b.report(ctx, strings.Split(*sizes, ","))
		if err != nil {
			return err
		}
		return harness.Write(*out, text)
	})
}

// bench is a run of the benchmark.
type bench struct {
	sums            int64
	profile, parent string
}

// profiled begins a profile, if one is asked for, and returns what ends it.
func (b *bench) profiled() (stop func(), err error) {
	if b.profile == "" {
		return func() {}, nil
	}
	f, err := os.Create(b.profile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // the report is what matters
	}, nil
}

// cost is what a step took.
type cost struct {
	seconds float64
	// work is the time of all processors.
	work float64
	// heap is the largest heap during the step, above that before it, in bytes.
	heap uint64
}

// timed takes time and memory of a step.
func timed(do func() error) (c cost, err error) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, m.HeapAlloc
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
	}()
	began, worked := time.Now(), processors()
	err = do()
	c.seconds, c.work = time.Since(began).Seconds(), processors()-worked
	close(done)
	<-stopped
	c.heap = peak - before
	return c, err
}

// processors is how many seconds of processors this process has taken.
func processors() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// row is what one number of records costs.
type row struct {
	records                                int64
	file, index                            int64 // bytes
	enrol, again, plan, draw, sums, ledger cost
	drawn                                  int
}

func (b *bench) report(ctx context.Context, sizes []string) (string, error) {
	machine := harness.Here()
	var w strings.Builder
	fmt.Fprintf(&w, `# What a run costs beside its model

Made by `+"`make bench-scale`"+` on %s. %s Records are made up, of about %d bytes, in a file of JSON lines; the encoder
has %d numbers a vector and takes no time. In brackets is the time of processors, which others on the machine move
less. Memory is the largest heap above that before a step, garbage included.
[Scale](scale.md) says what follows from this.

| records | file | index | enrol | memory | opened again | plan | a round's draw | drawn | %d sums | memory | a charge |
|---|---|---|---|---|---|---|---|---|---|---|---|
`, machine.Name, machine.Idle(), recordBytes, width, b.sums)
	for _, text := range sizes {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil || n < 1 {
			return "", fmt.Errorf("%q is not a number of records", text)
		}
		r, err := b.measure(ctx, n)
		if err != nil {
			return "", fmt.Errorf("%d records: %w", n, err)
		}
		fmt.Fprintf(&w, "| %d | %s | %s | %s | %s | %s | %s | %s | %d | %s | %s | %s |\n", r.records, size(r.file), size(r.index),
			took(r.enrol), size(int64(r.enrol.heap)), took(r.again), took(r.plan), took(r.draw), r.drawn, took(r.sums), size(int64(r.sums.heap)), took(r.ledger))
	}
	return w.String(), nil
}

// measure takes all steps with n records, and says how far it is.
func (b *bench) measure(ctx context.Context, n int64) (r row, err error) {
	dir, err := os.MkdirTemp(b.parent, "bench-scale-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	s := scene{dir: dir, data: filepath.Join(dir, "records.jsonl"), n: n}
	r.records = n
	if r.file, err = s.write(); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, step := range []struct {
		name string
		into *cost
		do   func() error
	}{
		{"enrol", &r.enrol, func() error { return s.open(ctx) }},
		{"opened again", &r.again, func() error { return errors.Join(s.close(), s.open(ctx)) }},
		{"plan", &r.plan, s.planned},
		{"draw", &r.draw, func() (err error) {
			r.drawn, err = s.draw(ctx)
			return err
		}},
		{"sums", &r.sums, func() error { return s.addUp(ctx, b.sums) }},
		{"charge", &r.ledger, func() error { return s.charge(ctx) }},
	} {
		if *step.into, err = timed(step.do); err != nil {
			return r, fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(os.Stderr, "%d records, %s: %s, %s\n", n, step.name, took(*step.into), size(int64(step.into.heap)))
	}
	r.index, err = s.index()
	return r, err
}

// size is a number of bytes in words.
func size(n int64) string {
	const mega = 1e6
	switch {
	case n < mega/10:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1000*mega:
		return fmt.Sprintf("%.1f MB", float64(n)/mega)
	}
	return fmt.Sprintf("%.2f GB", float64(n)/1e9)
}

// took is a time in words: that of a clock, and that of processors.
func took(c cost) string {
	if c.work == 0 && c.seconds == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%s)", seconds(c.seconds), seconds(c.work))
}

func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.3g ms", 1000*s)
	}
	return fmt.Sprintf("%.3g s", s)
}
