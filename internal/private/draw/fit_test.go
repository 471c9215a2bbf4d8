package draw_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/draw/drawtest"
)

// falseReject is the probability with which a right sampler fails a test, missed that
// with which a wrong one that a test names passes it.
const (
	falseReject = 1e-9
	missed      = 1e-9
)

// distribution is what a sampler should do: probabilities of features of its outcomes.
type distribution struct {
	features map[string]float64
	possible map[string]bool
	of       func(outcome string) []string
}

// distributionOf is about outcomes themselves and what they tell of single units and pairs.
func distributionOf(outcomes []drawtest.Outcome) distribution {
	l := distribution{features: map[string]float64{}, possible: map[string]bool{}}
	features := map[string][]string{}
	for _, o := range outcomes {
		name := o.String()
		l.possible[name] = true
		features[name] = featuresOf(o)
		for _, f := range features[name] {
			l.features[f] += o.Probability
		}
	}
	l.of = func(outcome string) []string { return features[outcome] }
	return l
}

func featuresOf(o drawtest.Outcome) []string {
	out := []string{o.String(), fmt.Sprint("empty ", o.Empty)}
	place := map[int]int{}
	for p, prompt := range o.Prompts {
		for _, u := range prompt {
			place[u] = p
		}
	}
	out = append(out, fmt.Sprint("size ", len(place)))
	for u, p := range place {
		out = append(out, fmt.Sprint("unit ", u))
		for v, q := range place {
			if u < v {
				out = append(out, fmt.Sprint("units ", u, v))
				if p == q {
					out = append(out, fmt.Sprint("together ", u, v))
				}
			}
		}
	}
	return out
}

// divergence is the Kullback-Leibler divergence of coins.
func divergence(f, p float64) float64 {
	term := func(a, b float64) float64 {
		switch {
		case a <= 0:
			return 0
		case b <= 0:
			return math.Inf(1)
		}
		return a * math.Log(a/b)
	}
	return max(0, term(f, p)+term(1-f, 1-p))
}

// limit is how far n·divergence may be for each of so many features: Chernoff's bound
// says that a coin of probability p exceeds T with probability at most 2·exp(−T), and the
// union over features keeps all of them to falseReject.
func limit(features int) float64 { return math.Log(2 * float64(features) / falseReject) }

// check rejects draws that do not follow the distribution.
func (l distribution) check(outcomes []string) error {
	counts := map[string]float64{}
	for _, o := range outcomes {
		if !l.possible[o] {
			return fmt.Errorf("%s is impossible", o)
		}
		for _, f := range l.of(o) {
			counts[f]++
		}
	}
	n := float64(len(outcomes))
	for f, p := range l.features {
		if x := n * divergence(counts[f]/n, min(1, p)); x > limit(len(l.features)) {
			return fmt.Errorf("%s: %v of %v draws, where %.5f is right", f, counts[f], n, p)
		}
	}
	return nil
}

// miss bounds the probability that draws of another distribution pass check.
func (l distribution) miss(wrong distribution, draws int) float64 {
	n := float64(draws)
	impossible := 0.0
	for o := range wrong.possible {
		if !l.possible[o] {
			impossible += wrong.features[o]
		}
	}
	best := math.Exp(n * math.Log1p(-min(1, impossible)))
	for f, p := range l.features {
		p, q := min(1, p), min(1, wrong.features[f])
		inside, outside := p, q
		if n*divergence(outside, p) <= limit(len(l.features)) {
			continue
		}
		for range 60 {
			middle := (inside + outside) / 2
			if n*divergence(middle, p) <= limit(len(l.features)) {
				inside = middle
			} else {
				outside = middle
			}
		}
		best = min(best, math.Exp(-n*divergence(inside, q)))
	}
	return best
}

func TestCheckKnowsItsLimits(t *testing.T) {
	coin := func(p float64) distribution {
		return distributionOf([]drawtest.Outcome{{Probability: p, Prompts: [][]int{{0}}}, {Probability: 1 - p}})
	}
	heads, tails := drawtest.Outcome{Prompts: [][]int{{0}}}.String(), drawtest.Outcome{}.String()
	draws := make([]string, 10000)
	for i := range draws {
		draws[i] = tails
		if i%2 == 0 {
			draws[i] = heads
		}
	}
	if err := coin(0.5).check(draws); err != nil {
		t.Error("half of the draws are not a half:", err)
	}
	if coin(0.46).check(draws) == nil || coin(0.54).check(draws) == nil {
		t.Error("half of the draws pass for another rate")
	}
	if m := coin(0.5).miss(coin(0.55), 10000); m > 1e-2 || m < 1e-9 {
		t.Errorf("10,000 coins of 0.55 pass for 0.5 with probability up to %v", m)
	}
}
