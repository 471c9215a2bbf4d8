package ensemble

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
)

// reply is what a prompt answers, in the form that a method reads: scores of labels, a
// sentence as a vector, or as a text.
type reply struct {
	scores []float64
	vector []float32
	text   string
}

// room is what one look sees: the replies of prompts with records, that of the public
// prompt, and how many prompts have none.
type room struct {
	replies []reply
	public  reply
	empty   int
}

func (r room) view() decode.View {
	v := decode.View{Public: r.public.scores, Base: r.public.scores, Empty: r.empty}
	for _, p := range r.replies {
		v.Prompts = append(v.Prompts, p.scores)
	}
	return v
}

func (r room) cloud() cloud {
	c := cloud{public: r.public.vector, empty: r.empty}
	for _, p := range r.replies {
		c.vectors = append(c.vectors, p.vector)
	}
	return c
}

func (r room) tally() tally {
	var texts []string
	for _, p := range r.replies {
		texts = append(texts, p.text)
	}
	return tallied(texts, r.public.text, r.empty)
}

// subject is a method as the checks see it: what it declares, and the chances of what it
// releases. A method that looks twice has a room for each look, from draws of their own;
// the chances of the second are conditional on the first having been passed.
type subject struct {
	Method
	// chances are those of all outcomes of a look, by name.
	chances []func(room) map[string]float64
	// goes is the outcome of the first look that the second follows.
	goes string
}

func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// largestOf are the chances of each value to be the largest once the question is asked:
// ∫ φ(z) Π_j Φ(z + (x_i−x_j)/s) dz, by the trapezoidal rule, which for such integrands is
// exact to the last digits. Ties of rounded noise have probabilities around 2^-20.
func largestOf(q mechanism.Query) map[string]float64 {
	out := map[string]float64{}
	deviation := q.Sensitivity * q.Sigma
	const h, reach = 0.125, 9.0
	for i, x := range q.Values {
		sum := 0.0
		for z := -reach; z <= reach; z += h {
			f := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * h
			for j, y := range q.Values {
				if j != i {
					f *= normal(z + float64(x-y)/deviation)
				}
			}
			sum += f
		}
		out[fmt.Sprint(i)] = sum
	}
	return out
}

func softmaxOf(exponents []float64) map[string]float64 {
	top, total := slices.Max(exponents), 0.0
	for _, x := range exponents {
		total += math.Exp(x - top)
	}
	out := map[string]float64{}
	for i, x := range exponents {
		out[fmt.Sprint(i)] = math.Exp(x-top) / total
	}
	return out
}

func chosenOf(c mechanism.Selection) map[string]float64 {
	var exponents []float64
	for _, n := range c.Scores {
		exponents = append(exponents, float64(n)*c.Rate)
	}
	return softmaxOf(exponents)
}

// above are the chances that a question of one number is answered above a limit, or not.
func above(q mechanism.Query, limit float64, yes, no string) map[string]float64 {
	p := normal((float64(q.Values[0]) - limit) / (q.Sensitivity * q.Sigma))
	return map[string]float64{yes: p, no: 1 - p}
}

func voteSubject(v *Vote) subject {
	s := subject{Method: v}
	switch {
	case v.Ballot == Soft:
		s.chances = append(s.chances, func(r room) map[string]float64 { return softOf(v.clipped(), r.view()) })
	case v.Noise == Gaussian:
		s.chances = append(s.chances, func(r room) map[string]float64 { return largestOf(v.counts(r.view())) })
	case v.Noise == Threshold:
		s.goes = "agreed"
		s.chances = append(s.chances,
			func(r room) map[string]float64 {
				return above(v.top(r.view()), math.Ldexp(v.Threshold, fine)-0.5, s.goes, "public")
			},
			func(r room) map[string]float64 { return largestOf(v.counts(r.view())) })
	default:
		s.chances = append(s.chances, func(r room) map[string]float64 { return chosenOf(v.selection(r.view())) })
	}
	return s
}

// softOf are the chances of a choice by clipped differences, written down once more.
func softOf(c *decode.Clipped, v decode.View) map[string]float64 {
	gain := max(c.Gain, 1)
	exponents := make([]float64, len(v.Public))
	for i, b := range v.Base {
		exponents[i] = b / c.Temperature
	}
	for _, p := range v.Prompts {
		d := make([]float64, len(p))
		for i := range p {
			d[i] = p[i] - v.Public[i]
		}
		sorted := slices.Sorted(slices.Values(d))
		middle := sorted[(len(sorted)-1)/2]
		for i, x := range d {
			exponents[i] += max(-c.Clip(), min(c.Clip(), x-middle)) * gain / (c.Expected * c.Temperature)
		}
	}
	return softmaxOf(exponents)
}

// productSubject has the chances of a product of experts by its formula.
func productSubject(p *Product) subject {
	return subject{Method: p, chances: []func(room) map[string]float64{func(r room) map[string]float64 {
		factor := p.Range / p.Clip
		if p.Draw.Exchanges() {
			factor /= 2
		}
		exponents := make([]float64, len(r.public.scores))
		for i, x := range r.public.scores {
			exponents[i] = factor * x
		}
		for _, e := range append(slices.Clone(r.replies), slices.Repeat([]reply{r.public}, r.empty)...) {
			for i, x := range e.scores {
				exponents[i] += factor * max(x-slices.Max(e.scores), -p.Clip)
			}
		}
		return softmaxOf(exponents)
	}}}
}

// places of the brute force: two, so that which is nearer is one normal number.
var places = [][]float32{{1, 0}, {0.6, 0.8}}

func embeddingSubject(e *Embedding) subject {
	return subject{Method: e, chances: []func(room) map[string]float64{
		func(r room) map[string]float64 { return nearestOf(e.query(r.cloud())) },
	}}
}

func nearestOf(q mechanism.Query) map[string]float64 {
	mean, square := 0.0, 0.0
	for i, x := range q.Values {
		d := float64(places[0][i]) - float64(places[1][i])
		mean += d * float64(x)
		square += d * d
	}
	p := normal(mean / (math.Sqrt(square) * q.Sensitivity * q.Sigma))
	return map[string]float64{"0": p, "1": 1 - p}
}

// list of words that a joint choice is from.
var list = []string{"aa", "bb", "cc"}

func keywordSubject(k *Keyword) subject {
	return subject{Method: k, chances: []func(room) map[string]float64{func(r room) map[string]float64 {
		if k.Select == Test {
			top, gap := k.gap(r.tally())
			slices.Sort(top)
			return above(gap, float64(k.bar(gap))+0.5, strings.Join(top, " "), "none")
		}
		return sequencesOf(k.joint(r.tally().of(list)), r.tally().of(list))
	}}}
}

// sequencesOf lists all sequences of a joint choice with their chances.
func sequencesOf(j *joint, counts []int64) map[string]float64 {
	sorted := slices.Clone(counts)
	slices.SortFunc(sorted, func(a, b int64) int { return int(b - a) })
	b, _ := j.base.Float64()
	b = math.Ldexp(b, -bits)
	out, total := map[string]float64{}, 0.0
	for _, s := range arrangements(len(counts), j.k) {
		w := math.Pow(b, float64(lossOf(sorted, counts, s)))
		out[fmt.Sprint(s)] = w
		total += w
	}
	for s := range out {
		out[s] /= total
	}
	return out
}

func lossOf(sorted, counts []int64, s []int) int64 {
	loss := sorted[0] - counts[s[0]]
	for i, at := range s {
		loss = max(loss, sorted[i]-counts[at])
	}
	return loss
}

// arrangements lists the sequences of k of n different items.
func arrangements(n, k int) [][]int {
	out := [][]int{nil}
	for range k {
		var next [][]int
		for _, s := range out {
			for i := range n {
				if !slices.Contains(s, i) {
					next = append(next, append(slices.Clone(s), i))
				}
			}
		}
		out = next
	}
	return out
}
