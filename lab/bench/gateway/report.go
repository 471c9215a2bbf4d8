package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/harness"
)

// result is all that was measured.
type result struct {
	machine            harness.Machine
	connections, turns int
	sides              []*side
	encoded            []*side // in latency
	soak               *soakResult
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

func (r *result) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What the gateway adds

Written by `+"`make bench-gateway`"+`. A stand-in for a model's server is asked by %d connections, each with one question
after the other: directly, through `+"`sotto serve`"+` with a key, and through PyPI's litellm proxy with one. All are
processes of one machine, which asks too. Medians of %d turns, in which each is measured after the other.

%s

| | p50, ms | p99, ms | added p50 | added p99 | requests/s | of litellm's |
|---|---|---|---|---|---|---|
`, r.connections, r.turns, r.machine.Name+". "+r.machine.Idle())
	direct := r.sides[0]
	p50 := func(t loadResult) time.Duration { return t.p50 }
	p99 := func(t loadResult) time.Duration { return t.p99 }
	rate := func(t loadResult) float64 { return t.rate }
	peer := 0.
	for _, s := range r.sides {
		if strings.HasPrefix(s.name, "litellm") {
			peer = median(s.at, rate)
		}
	}
	failed := 0
	for _, s := range r.sides {
		added := []string{"", ""}
		if s != direct {
			added = []string{ms(median(s.latency, p50) - median(direct.latency, p50)), ms(median(s.latency, p99) - median(direct.latency, p99))}
		}
		ratio := ""
		if peer > 0 {
			ratio = fmt.Sprintf("%.1f×", median(s.at, rate)/peer)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.0f | %s |\n", s.name, ms(median(s.latency, p50)), ms(median(s.latency, p99)), added[0], added[1], median(s.at, rate), ratio)
		for _, t := range append(slices.Clone(s.latency), s.at...) {
			failed += t.failed
		}
	}
	fmt.Fprintf(&b, "\np50 and p99 are of what answers took beyond the time that the server itself took, which was %v on average, from half to one and a half of that; requests a second are those of one that answers at once. Requests that failed: %d.\n", thinking, failed)
	r.reportEncoding(&b)
	if r.soak != nil {
		r.soak.report(&b)
	}
	return b.String()
}

func (s *soakResult) report(b *strings.Builder) {
	fmt.Fprintf(b, `
## %v with an upstream that fails

32 clients ask, half of them for streams; half of the time the upstream dies, is slow, refuses, sends what is no JSON, cuts its
answer off or sends a line without end, or the client leaves. %d requests, of which %d did not end as they should.

| | number |
|---|---|
`, s.span, s.requests, s.wrong)
	kinds := make([]string, 0, len(s.kinds))
	for k := range s.kinds {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for _, k := range kinds {
		fmt.Fprintf(b, "| %s | %d |\n", k, s.kinds[k])
	}
	n := len(s.memory)
	middle := func(part []int64) int64 {
		part = slices.Clone(part)
		slices.Sort(part)
		return part[len(part)/2]
	}
	fmt.Fprintf(b, "\nMemory of the process, median: %d MB in the second tenth of the time, %d MB in the last tenth; at most %d MB. Goroutines %d and %d, open files %d and %d, near the beginning and two seconds after the end.\n",
		middle(s.memory[n/10:max(n/10+1, n/5)]), middle(s.memory[n-max(1, n/10):]), slices.Max(s.memory), s.goroutines[0], s.goroutines[1], s.openFiles[0], s.openFiles[1])
}
