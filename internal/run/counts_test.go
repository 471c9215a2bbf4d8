package run

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// counting is a plan that has its sizes counted.
func countingPlan(m decode.Method) plan.Plan {
	p := planFor(tickets(), m)
	p.Count = &plan.Count{Epsilon: 10, MinSize: 5}
	for i := range p.Parts {
		p.Parts[i].Size = 5
	}
	return p
}

// TestCounted: sizes are counted once, with noise, and make rates no larger than planned.
func TestCounted(t *testing.T) {
	p := newPlace(t)
	m := newHashModel()
	o := p.options(t, countingPlan(clipped()), m)
	stop := errors.New("stop")
	m.fail = func(int) error { return stop }
	r := p.runner(o, osDisk{})
	if _, err := r.do(t.Context()); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	sizes := slices.Clone(r.exec.progress.sizes)
	// Noise of scale 0.1 moves 20 by 3 with a probability below 1e-12.
	for _, n := range sizes {
		if n < 17 || n > 23 {
			t.Errorf("parts of 20 are counted as %v", sizes)
		}
	}
	m.fail = nil
	r = p.runner(o, osDisk{})
	_, err := r.do(t.Context())
	must(t, err)
	if !slices.Equal(sizes, r.exec.progress.sizes) {
		t.Errorf("counted as %v, and after a break as %v", sizes, r.exec.progress.sizes)
	}
	methods := r.methods()
	for i, m := range methods {
		want := 0.2 * 5 / float64(sizes[i])
		got := m.Scheme().Rate
		at := expect.At(t, "a part of %d units that was planned with 5", sizes[i])
		expect.Within(at, "rate", got, want*0.999, 0.2)
		expect.Max(at, "rate", got, want*1.001)
		if got := m.(*decode.Clipped); got.Expected != 4 || got.Range != 1 {
			t.Errorf("counting changed the method: %+v", got)
		}
	}
	report, err := certificate.VerifyDir(o.Dir, certificate.VerifyOptions{Trust: p.trust, Evaluator: unitEvaluator{}})
	must(t, err)
	if !slices.Contains(report.Predicate.Samplers, certificate.SampleAll) {
		t.Errorf("everyone was counted, and the certificate says that there ran %v", report.Predicate.Samplers)
	}
	expect.True(t, "report.OK", report.OK, report.Failures())
	expect.Contains(t, "report.Predicate.Assumptions", strings.Join(report.Predicate.Assumptions, "\n"), "counted with noise")
	expect.Contains(t, "report.Predicate.Events[0]", report.Predicate.Events[0], "laplace(0.1)")
}

// TestCountingRates: a rate never grows, whatever was counted, for every method that draws.
func TestCountingRates(t *testing.T) {
	disjoint := scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 4}
	for _, m := range []decode.Method{
		clipped(), gaussian(), &decode.NoisyMax{Draw: perToken(), Candidates: 10, Epsilon: 1},
		&decode.Radius{Draw: perToken(), Candidates: 10, Sigma0: 10, Sigma1: 1, Sigma2: 3, Lambda: 0.2, Rounds: 1},
		&decode.NonPrivate{Draw: perToken(), Candidates: 10}, &decode.Real{Draw: perText()},
		&decode.Clipped{Draw: disjoint, Expected: 5, Range: 1, Temperature: 1, Candidates: 10},
		&decode.Mixing{Draw: perText(), Expected: 4, Range: 1, Temperature: 1, Candidates: 10},
	} {
		part := plan.Part{Size: 10, Texts: 1, Method: decode.Settings{Method: m}}
		for size, factor := range map[int64]float64{-3: 1, 0: 1, 9: 1, 10: 1, 20: 2, 1000: 100} {
			got := counting(part, size)
			sampling, was := got.Scheme(), m.Scheme()
			if was.Kind == scheme.Disjoint {
				if sampling.Batches != int64(factor)*was.Batches {
					t.Errorf("%s, %d units: %d batches", m.Name(), size, sampling.Batches)
				}
				continue
			}
			at := expect.At(t, "%s, %d units: rate", m.Name(), size)
			expect.Max(at, "sampling.Rate", sampling.Rate, was.Rate)
			expect.Within(at, "sampling.Rate*factor", sampling.Rate*factor, was.Rate*0.999, was.Rate*1.001)
			sampling.Rate = was.Rate
			if sampling != was {
				t.Errorf("%s: %+v became %+v", m.Name(), was, sampling)
			}
		}
	}
}

// TestDiscovered: labels of open tasks are those that many units have; one that a single
// unit has does not show.
func TestDiscovered(t *testing.T) {
	p := newPlace(t)
	file, err := os.OpenFile(p.data, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = fmt.Fprintf(file, "{\"text\": %q, \"label\": \"rare%s\", \"who\": \"x\"}\n", marker, marker)
	must(t, errors.Join(err, file.Close()))
	made := planFor(phrases(), clipped())
	made.Conditions, made.Discover = nil, &plan.Discover{Epsilon: 10, Delta: 1e-12, MaxLabels: 10}
	o := p.options(t, made, newHashModel())
	r := p.runner(o, osDisk{})
	result, err := r.do(t.Context())
	must(t, err)
	found := slices.Sorted(slices.Values(r.exec.progress.found))
	if !slices.Equal(found, []string{"blue", "red"}) {
		t.Errorf("found %q", found)
	}
	for _, e := range result.Examples {
		if e.Output != "red" && e.Output != "blue" {
			t.Errorf("a text for %q", e.Output)
		}
	}
	p.keepsSecrets(t, o.Dir)
}

// TestNothingDiscovered: the charge stays, and the error says what to do.
func TestNothingDiscovered(t *testing.T) {
	p := newPlace(t)
	made := planFor(phrases(), clipped())
	made.Conditions, made.Discover = nil, &plan.Discover{Epsilon: 0.01, Delta: 1e-300, MaxLabels: 10}
	o := p.options(t, made, newHashModel())
	for range 2 {
		_, err := p.runner(o, osDisk{}).do(t.Context())
		if !errors.As(err, new(*FolderError)) || !strings.Contains(err.Error(), "public list") {
			t.Errorf("%v", err)
		}
		if got := charges(t, o); len(got) != 1 {
			t.Errorf("charges %+v", got)
		}
	}
}

// TestSpread: labels come as equally often as possible, and every choice of those that
// come once more is as likely as any other.
func TestSpread(t *testing.T) {
	list := []string{"a", "b", "c", "d"}
	for n := 1; n <= 9; n++ {
		times := map[string]int{}
		taken, err := spread(list, n, noise.KeyFromSeed(uint64(n)).Stream("labels"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range taken {
			times[c]++
		}
		for _, label := range list {
			if k := times[label]; k < n/4 || k > (n+3)/4 {
				t.Errorf("of %d texts %d are for %s", n, k, label)
			}
		}
	}
	// Each of the 12 ordered pairs has 1000 of 12000; that a fair one is 250 off has a
	// probability below 1e-14 (8 standard deviations). A shuffle that never moves the
	// last label would be off by 1000.
	counts := map[string]int{}
	for i := range uint64(12000) {
		pair, err := spread(list, 2, noise.KeyFromSeed(i).Stream("labels"))
		if err != nil {
			t.Fatal(err)
		}
		counts[pair[0]+pair[1]]++
	}
	for pair, n := range counts {
		if n < 750 || n > 1250 {
			t.Errorf("%s came %d times of about 1000", pair, n)
		}
	}
	if len(counts) != 12 {
		t.Errorf("%d ordered pairs came", len(counts))
	}
}
