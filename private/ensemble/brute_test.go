package ensemble

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sotto/privacy"
	"sotto/privacy/accountant"
	"sotto/private/decode"
	"sotto/private/draw"
	"sotto/private/draw/drawtest"
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
func (q question) largestOf() map[string]float64 {
	out := map[string]float64{}
	deviation := q.sensitivity * q.sigma
	const h, reach = 0.125, 9.0
	for i, x := range q.values {
		sum := 0.0
		for z := -reach; z <= reach; z += h {
			f := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * h
			for j, y := range q.values {
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

func (c contest) softmaxOf() map[string]float64 {
	var exponents []float64
	for _, n := range c.scores {
		exponents = append(exponents, float64(n)*c.rate)
	}
	return softmaxOf(exponents)
}

// above are the chances that a question of one number is answered above a limit, or not.
func (q question) above(limit float64, yes, no string) map[string]float64 {
	p := normal((float64(q.values[0]) - limit) / (q.sensitivity * q.sigma))
	return map[string]float64{yes: p, no: 1 - p}
}

func voteSubject(v *Vote) subject {
	s := subject{Method: v}
	switch {
	case v.Ballot == Soft:
		s.chances = append(s.chances, func(r room) map[string]float64 { return softOf(v.clipped(), r.view()) })
	case v.Noise == Gaussian:
		s.chances = append(s.chances, func(r room) map[string]float64 { return v.counts(r.view()).largestOf() })
	case v.Noise == Threshold:
		s.goes = "agreed"
		s.chances = append(s.chances,
			func(r room) map[string]float64 {
				return v.top(r.view()).above(math.Ldexp(v.Threshold, fine)-0.5, s.goes, "public")
			},
			func(r room) map[string]float64 { return v.counts(r.view()).largestOf() })
	default:
		s.chances = append(s.chances, func(r room) map[string]float64 { return v.contest(r.view()).softmaxOf() })
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

// places of the brute force: two, so that which is nearer is one normal number.
var places = [][]float32{{1, 0}, {0.6, 0.8}}

func embeddingSubject(e *Embedding) subject {
	return subject{Method: e, chances: []func(room) map[string]float64{
		func(r room) map[string]float64 { return nearestOf(e.question(r.cloud())) },
	}}
}

func nearestOf(q question) map[string]float64 {
	mean, square := 0.0, 0.0
	for i, x := range q.values {
		d := float64(places[0][i]) - float64(places[1][i])
		mean += d * float64(x)
		square += d * d
	}
	p := normal(mean / (math.Sqrt(square) * q.sensitivity * q.sigma))
	return map[string]float64{"0": p, "1": 1 - p}
}

// list of words that a joint choice is from.
var list = []string{"aa", "bb", "cc"}

func keywordSubject(k *Keyword) subject {
	return subject{Method: k, chances: []func(room) map[string]float64{func(r room) map[string]float64 {
		if k.Select == Test {
			top, gap := k.gap(r.tally())
			slices.Sort(top)
			return gap.above(float64(k.bar(gap))+0.5, strings.Join(top, " "), "none")
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

// worlds say what any records make a prompt reply, adversarially in different ways. Record
// 0 is the one that comes and goes.
func worlds(seed uint64) func(records []int) reply {
	random := rand.New(rand.NewPCG(seed, 7))
	style := random.IntN(4)
	known := map[string]reply{}
	any := func() reply {
		r := reply{scores: make([]float64, 3), vector: make([]float32, 2)}
		for i := range r.scores {
			r.scores[i] = random.NormFloat64() * 4
		}
		angle := random.Float64() * 2 * math.Pi
		r.vector[0], r.vector[1] = float32(3*math.Cos(angle)), float32(3*math.Sin(angle))
		for _, w := range list {
			if random.IntN(2) == 0 {
				r.text += w + " " + w + " " // twice: it counts once
			}
		}
		return r
	}
	pole := func(side int) reply {
		r := reply{scores: []float64{-60, -60, -60}, vector: []float32{float32(places[0][0] - places[1][0]), float32(places[0][1] - places[1][1])}, text: list[0]}
		r.scores[side] = 0
		if side > 0 {
			r.vector[0], r.vector[1] = -r.vector[0], -r.vector[1]
			r.text = strings.Join(list[1:], " ")
		}
		return r
	}
	return func(records []int) reply {
		key := fmt.Sprint(records)
		if slices.Contains(records, 0) && style > 0 {
			// The record shouts the same, alone or not; in style 3 every other one shouts
			// against it.
			key = "record 0"
			if style > 1 {
				return pole(0)
			}
		}
		if style == 3 {
			return pole(1)
		}
		if _, ok := known[key]; !ok {
			known[key] = any()
		}
		return known[key]
	}
}

// trial is a subject on a tiny data set: small enough to list everything that can happen.
type trial struct {
	subject
	records int
	// draws lists what a draw gives, otherwise than the law says for planted bugs.
	draws func(l draw.Law, n int) []drawtest.Outcome
}

func (c trial) members() (with, without []int) {
	for i := range c.records {
		with = append(with, i)
	}
	without = slices.Clone(with[1:])
	if c.Law().Adjacency() == privacy.ReplaceOne {
		without = append([]int{c.records}, without...)
	}
	return with, without
}

func roomOf(w func([]int) reply, members []int, o drawtest.Outcome) room {
	r := room{public: w(nil), empty: o.Empty}
	for _, prompt := range o.Prompts {
		var records []int
		for _, unit := range prompt {
			records = append(records, members[unit])
		}
		r.replies = append(r.replies, w(records))
	}
	return r
}

// distribution of what is released.
func (c trial) distribution(w func([]int) reply, members []int) map[string]float64 {
	list := c.draws
	if list == nil {
		list = drawtest.Outcomes
	}
	draws := list(c.Law(), len(members))
	looks := make([]map[string]float64, len(c.chances))
	for at, chances := range c.chances {
		looks[at] = map[string]float64{}
		for _, o := range draws {
			for name, p := range chances(roomOf(w, members, o)) {
				looks[at][name] += o.Probability * p
			}
		}
	}
	out := looks[0]
	if len(looks) > 1 { // from a draw of its own, hence independent of the first
		for label, p := range looks[1] {
			out[c.goes+" "+label] = out[c.goes] * p
		}
		delete(out, c.goes)
	}
	return out
}

// levels of ε at which divergences are compared.
var levels = []float64{0, 0.1, 0.3, 0.7, 1.2, 2, 3}

// worst is the largest ratio of what is to what is declared, over worlds and levels. What
// was declared is exceeded when it is above one. Divergences below 1e-12 are rounding.
func (c trial) worst(t testing.TB) float64 {
	t.Helper()
	var bounds []float64
	for _, epsilon := range levels {
		d, err := accountant.Auto{Tolerance: 0.005}.Delta(c.Event(), c.Law().Adjacency(), epsilon)
		if err != nil {
			t.Fatal(err)
		}
		bounds = append(bounds, d.Upper)
	}
	with, without := c.members()
	worst := 0.0
	for seed := range uint64(60) {
		w := worlds(seed)
		p, q := c.distribution(w, with), c.distribution(w, without)
		for _, d := range []map[string]float64{p, q} {
			total := 0.0
			for _, x := range d {
				total += x
			}
			if math.Abs(total-1) > 1e-9 {
				t.Fatalf("probabilities add up to %v", total)
			}
		}
		for at, epsilon := range levels {
			worst = max(worst, (divergence(p, q, epsilon)-1e-12)/bounds[at], (divergence(q, p, epsilon)-1e-12)/bounds[at])
		}
	}
	return worst
}

func divergence(p, q map[string]float64, epsilon float64) float64 {
	sum := 0.0
	for name, x := range p {
		sum += max(0, x-math.Exp(epsilon)*q[name])
	}
	return sum
}

var (
	each    = draw.Law{Kind: draw.Poisson, Per: draw.PerText, Rate: 0.4}
	several = draw.Law{Kind: draw.Poisson, Per: draw.PerText, Rate: 0.4, Prompts: 2, PerPrompt: 2}
	exact   = draw.Law{Kind: draw.FixedSize, Per: draw.PerText, Take: 2, Of: 3}
)

// fresh is a law whose looks have draws of their own.
func fresh(l draw.Law) draw.Law {
	l.Per = draw.PerToken
	return l
}

// trials are one line for each method, way to decide and way to draw. A new method belongs
// here.
func trials() map[string]trial {
	vote := func(v Vote) trial { return trial{subject: voteSubject(&v), records: 3} }
	embedding := func(l draw.Law) trial {
		return trial{subject: embeddingSubject(&Embedding{Draw: l, Sigma: 0.8, Candidates: 2}), records: 3}
	}
	keyword := func(k Keyword) trial { return trial{subject: keywordSubject(&k), records: 3} }
	out := map[string]trial{}
	for name, l := range map[string]draw.Law{"": each, ", several a prompt": several, ", fixed size": exact} {
		out["vote"+name] = vote(Vote{Draw: l, Range: 1.2})
		out["vote, soft"+name] = vote(Vote{Draw: l, Ballot: Soft, Range: 1.2, Expected: 1.5, Temperature: 0.7})
		out["vote, gaussian"+name] = vote(Vote{Draw: l, Noise: Gaussian, Sigma: 0.8})
		out["vote, threshold"+name] = vote(Vote{Draw: fresh(l), Noise: Threshold, Sigma: 0.8, CheckSigma: 0.9, Threshold: 1.5})
		out["embedding"+name] = embedding(l)
		for n := 1; n <= 3; n++ {
			out[fmt.Sprintf("keyword, %d%s", n, name)] = keyword(Keyword{Draw: l, Keywords: n, Range: 1.2, Candidates: 1})
		}
		out["keyword, ptr"+name] = keyword(Keyword{Draw: l, Select: Test, Keywords: 1, Sigma: 0.5, Failure: 0.2})
		out["keyword, ptr, two"+name] = keyword(Keyword{Draw: l, Select: Test, Keywords: 2, Sigma: 0.5, Failure: 0.05})
	}
	return out
}

func TestTrialsAreAllMethods(t *testing.T) {
	have := map[string]bool{}
	for name, c := range trials() {
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.Proof() == "" {
			t.Errorf("%s has a guarantee, but no proof", name)
		}
		have[c.Name()] = true
	}
	for _, name := range Names() {
		m, err := New(name)
		if err != nil || m.Name() != name || !have[name] {
			t.Errorf("%s is not among the trials of these tests, or calls itself otherwise: %v", name, err)
		}
	}
}

// TestWholeMechanism computes the exact distribution of what is released for adjacent data
// sets, draws included, and holds their divergence against what is declared.
func TestWholeMechanism(t *testing.T) {
	for name, c := range trials() {
		t.Run(name, func(t *testing.T) {
			worst := c.worst(t)
			t.Logf("reaches %.3f of what is declared", worst)
			if worst > 1 {
				t.Errorf("answers reveal %.3f times what is declared", worst)
			}
		})
	}
}
