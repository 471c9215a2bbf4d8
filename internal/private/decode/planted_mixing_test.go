package decode

import (
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
)

// Bugs in mixing. Each declares what [Mixing] does and does something that costs more.

func wideMixing(m *Mixing, times float64) subject {
	wide := *m
	wide.Range *= times
	return acting(m, mixingSubject(&wide))
}

// mixingAsIfAdded takes the width for one vector more or less where vectors are exchanged.
func mixingAsIfAdded(m *Mixing) subject {
	added := *m
	added.Draw = perText(0.5)
	return acting(m, mixingSubject(&added))
}

// mixedBy is mixing with another vector for a prompt's differences, in steps.
func mixedBy(m *Mixing, vector func(v View, differences []float64) []int64) subject {
	return scaled(m, func(v View) mechanism.Selection {
		sum := make([]int64, len(v.Public))
		for _, p := range v.Prompts {
			for i, n := range vector(v, differencesOf(v, p)) {
				sum[i] += n
			}
		}
		return mechanism.Selection{Scores: weigh(sum, v.Base, m.Expected), Exponent: nats, Rate: m.rate()}
	}, softmaxOf)
}

func differencesOf(v View, prompt []float64) []float64 {
	out := make([]float64, len(prompt))
	for i := range out {
		out[i] = difference(prompt[i], v.Public[i])
	}
	return out
}

// unlimited adds all of the difference.
func unlimited(m *Mixing) subject {
	return mixedBy(m, func(_ View, d []float64) []int64 {
		out := make([]int64, len(d))
		for i := range d {
			out[i] = steps(maxOf(m.MaxLambda)*(d[i]-slices.Min(d)), nats)
		}
		return out
	})
}

// partRange takes λ from the range over all candidates but the first.
func partRange(m *Mixing) subject {
	return mixedBy(m, func(_ View, d []float64) []int64 {
		part := d[min(1, len(d)-1):]
		lambda := min(maxOf(m.MaxLambda), m.Width()/max(math.SmallestNonzeroFloat64, slices.Max(part)-slices.Min(part)))
		out := make([]int64, len(d))
		for i := range d {
			out[i] = steps(lambda*(d[i]-slices.Min(d)), nats)
		}
		return out
	})
}

// minOfAll takes from each difference the least one of all prompts.
func minOfAll(m *Mixing) subject {
	return mixedBy(m, func(v View, d []float64) []int64 {
		lowest := math.Inf(1)
		for _, p := range v.Prompts {
			lowest = min(lowest, slices.Min(differencesOf(v, p)))
		}
		lambda := min(maxOf(m.MaxLambda), m.Width()/max(math.SmallestNonzeroFloat64, slices.Max(d)-slices.Min(d)))
		out := make([]int64, len(d))
		for i := range d {
			out[i] = max(0, min(m.width(), steps(lambda*(d[i]-lowest), nats)))
		}
		return out
	})
}

// realisedMixing counts public scores as often as there are prompts, as the product of
// densities does.
func realisedMixing(m *Mixing) subject {
	return scaled(m, func(v View) mechanism.Selection {
		return mechanism.Selection{Scores: weigh(m.sum(v), v.Base, float64(max(1, len(v.Prompts)))), Exponent: nats, Rate: m.rate()}
	}, softmaxOf)
}

// asPublished is the paper's rule with the ball that has the declared range's divergence.
func asPublished(m *Mixing) subject {
	published := &PublishedMixing{Draw: m.Draw, Order: 8, Beta: m.Range * m.Range / 32, Candidates: 2}
	return scaled(m, published.selection, softmaxOf)
}
