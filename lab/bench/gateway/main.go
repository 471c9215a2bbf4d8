// Command gateway measures what Sotto's gateway adds to a model's server: beside the same server
// asked directly, and beside PyPI's litellm proxy, in one run and in turns. -soak then asks it for
// ten minutes while its upstream fails in every way.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/sotto-dp/sotto/lab/bench/harness"
)

var (
	out         = harness.Out()
	upstream    = flag.String("upstream", "", "be the upstream at this address (used by the command itself)")
	delay       = flag.Duration("delay", 0, "how long the upstream takes")
	proxy       = flag.String("litellm", "", "litellm's program; empty leaves it out")
	connections = flag.Int("connections", 64, "how many ask at once")
	turns       = flag.Int("turns", 5, "how often each side is measured")
	span        = flag.Duration("span", 5*time.Second, "how long a measurement takes")
	soaking     = flag.Duration("soak", 10*time.Minute, "how long to ask while the upstream fails; 0 leaves it out")
)

// thinking is how long the upstream takes where latency is measured: a short answer of a fast
// model.
const thinking = 50 * time.Millisecond

func main() { harness.Main(run) }

func run(ctx context.Context) (err error) {
	if *upstream != "" {
		return serveUpstream(*upstream, *delay)
	}
	dir, err := os.MkdirTemp("", "bench-gateway-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &result{machine: harness.Here(), connections: *connections, turns: *turns}
	s := &sotto{binary: filepath.Join(dir, "sotto"), dir: dir, upstreams: map[string]string{}}
	build := exec.CommandContext(ctx, "go", "build", "-o", s.binary, "./cmd/sotto")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build sotto: %s", text)
	}
	for name, takes := range map[string]time.Duration{"thinks": thinking, "atonce": 0} {
		c, address, err := upstreamAt(takes)
		if err != nil {
			return err
		}
		defer c.stop()
		s.upstreams[name] = address
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := r.compare(ctx, s); err != nil {
		return err
	}
	if err := r.encode(ctx, s); err != nil {
		return err
	}
	if *soaking > 0 {
		if r.soak, err = soak(ctx, s, *soaking); err != nil {
			return err
		}
	}
	return harness.Write(*out, r.report())
}

// side is one of those that are compared.
type side struct {
	name           string
	thinks, atonce target
	// latency is of the upstream that thinks, at of the one that answers at once.
	latency, at []loadResult
}

// compare measures all sides in turns.
func (r *result) compare(ctx context.Context, s *sotto) error {
	ours, clients, _, err := s.serve(ctx)
	if err != nil {
		return err
	}
	defer ours.stop()
	sideAt := func(name, address, key, suffix string) *side {
		return &side{
			name:   name,
			thinks: target{name: name, address: address, key: key, model: "thinks-" + suffix}, atonce: target{name: name, address: address, key: key, model: "atonce-" + suffix},
		}
	}
	direct := &side{name: "the upstream itself", thinks: target{name: "upstream", address: s.upstreams["thinks"], key: "none", model: "big"}, atonce: target{name: "upstream", address: s.upstreams["atonce"], key: "none", model: "big"}}
	r.sides = []*side{direct, sideAt("Sotto", clients, s.key, "plain"), sideAt("Sotto, with a release's examples", clients, s.key, "demos")}
	if *proxy != "" {
		workers := runtime.NumCPU()
		c, address, err := litellm(ctx, *proxy, s.dir, s.upstreams, workers)
		if err != nil {
			return err
		}
		defer c.stop()
		r.sides = append(r.sides, sideAt(fmt.Sprintf("litellm, %d processes", workers), address, "sk-bench", "plain"))
	}
	for _, one := range r.sides { // connections and caches
		if _, err := load(ctx, one.atonce, *connections, time.Second); err != nil {
			return err
		}
	}
	for turn := range *turns {
		for _, one := range r.sides {
			latency, err := load(ctx, one.thinks, *connections, *span)
			if err != nil {
				return err
			}
			rate, err := load(ctx, one.atonce, *connections, *span)
			if err != nil {
				return err
			}
			one.latency, one.at = append(one.latency, latency), append(one.at, rate)
			fmt.Fprintf(os.Stderr, "turn %d, %s: p50 %v, p99 %v; %.0f requests/s; %d failed\n", turn+1, one.name, latency.p50, latency.p99, rate.rate, latency.failed+rate.failed)
		}
	}
	return nil
}

// median of what is measured in turns.
func median[T ~float64 | ~int64](of []loadResult, value func(loadResult) T) T {
	all := make([]T, len(of))
	for i, t := range of {
		all[i] = value(t)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
