// Package drawtest knows what a draw may give, with exact probabilities, by listing all
// of it. It is for tests on a few units: those of package draw hold the drawer that runs
// against it, those of package decode compute with it what whole texts reveal.
package drawtest

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/method/scheme"
)

// Outcome is one result of a draw: the units in each prompt that has any, and how many
// prompts have none.
type Outcome struct {
	Probability float64
	Prompts     [][]int
	Empty       int
}

// String returns a text that differs between outcomes.
func (o Outcome) String() string { return fmt.Sprint(o.Prompts, o.Empty) }

// Outcomes lists what one draw from n units gives under a scheme: each outcome once.
func Outcomes(l scheme.Scheme, n int) []Outcome {
	byName := map[string]int{}
	var all []Outcome
	for _, s := range subsets(l, n) {
		for _, o := range layouts(l, s.units) {
			o.Probability *= s.probability
			if o.Probability == 0 {
				continue
			}
			at, ok := byName[o.String()]
			if !ok {
				byName[o.String()] = len(all)
				all = append(all, o)
				continue
			}
			all[at].Probability += o.Probability
		}
	}
	return all
}

type subset struct {
	probability float64
	units       []int
}

func subsets(l scheme.Scheme, n int) []subset {
	rate := l.Rate
	if l.Kind == scheme.Disjoint {
		rate = 1 / float64(l.Batches)
	}
	var out []subset
	for bits := range 1 << n {
		s := subset{probability: 1}
		for unit := range n {
			if bits>>unit&1 == 1 {
				s.units = append(s.units, unit)
			}
		}
		k := float64(len(s.units))
		switch {
		case l.Kind != scheme.FixedSize:
			s.probability = math.Pow(rate, k) * math.Pow(1-rate, float64(n)-k)
		case int64(len(s.units)) != l.Take:
			continue
		default:
			s.probability = 1 / choose(n, len(s.units))
		}
		out = append(out, s)
	}
	return out
}

func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return math.Round(c)
}

// layouts lists the ways in which drawn units are put into prompts.
func layouts(l scheme.Scheme, units []int) []Outcome {
	if l.Prompts == 0 {
		o := Outcome{Probability: 1}
		for _, u := range units {
			o.Prompts = append(o.Prompts, []int{u})
		}
		return []Outcome{o}
	}
	assigned := [][][]int{make([][]int, l.Prompts)}
	for _, u := range units {
		var next [][][]int
		for _, prompts := range assigned {
			for p := range prompts {
				with := append([][]int(nil), prompts...)
				with[p] = append(append([]int(nil), with[p]...), u)
				next = append(next, with)
			}
		}
		assigned = next
	}
	var out []Outcome
	for _, prompts := range assigned {
		ways := []Outcome{{Probability: 1 / float64(len(assigned))}}
		for _, prompt := range prompts {
			ways = keep(ways, prompt, l.PerPrompt)
		}
		out = append(out, ways...)
	}
	return out
}

// keep extends outcomes by a prompt, of which at most some units are kept.
func keep(ways []Outcome, prompt []int, perPrompt int) []Outcome {
	if len(prompt) == 0 {
		for i := range ways {
			ways[i].Empty++
		}
		return ways
	}
	var kept []subset
	if len(prompt) <= perPrompt {
		kept = []subset{{1, prompt}}
	} else {
		kept = subsets(scheme.Scheme{Kind: scheme.FixedSize, Take: int64(perPrompt)}, len(prompt))
		for _, s := range kept {
			for i, at := range s.units {
				s.units[i] = prompt[at]
			}
		}
	}
	var out []Outcome
	for _, w := range ways {
		for _, k := range kept {
			prompts := append(append([][]int(nil), w.Prompts...), k.units)
			out = append(out, Outcome{w.Probability * k.probability, prompts, w.Empty})
		}
	}
	return out
}
