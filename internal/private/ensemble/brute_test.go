package ensemble

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw/drawtest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

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
	// draws lists what a draw gives, otherwise than the scheme says for planted bugs.
	draws func(l scheme.Scheme, n int) []drawtest.Outcome
}

func (c trial) members() (with, without []int) {
	for i := range c.records {
		with = append(with, i)
	}
	without = slices.Clone(with[1:])
	if c.Scheme().Adjacency() == privacy.ReplaceOne {
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
	draws := list(c.Scheme(), len(members))
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
		d, err := accountant.Auto{Tolerance: 0.005}.Delta(c.Event(), c.Scheme().Adjacency(), epsilon)
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
	each    = scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.4}
	several = scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.4, Prompts: 2, PerPrompt: 2}
	exact   = scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 2, Of: 3}
)

// fresh is a scheme whose looks have draws of their own.
func fresh(l scheme.Scheme) scheme.Scheme {
	l.Per = scheme.PerToken
	return l
}

// trials are one line for each method, way to decide and way to draw. A new method belongs
// here.
func trials() map[string]trial {
	vote := func(v Vote) trial { return trial{subject: voteSubject(&v), records: 3} }
	embedding := func(l scheme.Scheme) trial {
		return trial{subject: embeddingSubject(&Embedding{Draw: l, Sigma: 0.8, Candidates: 2}), records: 3}
	}
	keyword := func(k Keyword) trial { return trial{subject: keywordSubject(&k), records: 3} }
	out := map[string]trial{}
	for name, l := range map[string]scheme.Scheme{"": each, ", several a prompt": several, ", fixed size": exact} {
		out["vote"+name] = vote(Vote{Draw: l, Range: 1.2})
		out["vote, soft"+name] = vote(Vote{Draw: l, Ballot: Soft, Range: 1.2, Expected: 1.5, Temperature: 0.7})
		out["vote, gaussian"+name] = vote(Vote{Draw: l, Noise: Gaussian, Sigma: 0.8})
		out["vote, threshold"+name] = vote(Vote{Draw: fresh(l), Noise: Threshold, Sigma: 0.8, CheckSigma: 0.9, Threshold: 1.5})
		out["product"+name] = trial{subject: productSubject(&Product{Draw: l, Range: 1.2, Clip: 2}), records: 3}
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
	for _, name := range method.Names(method.List(method.Answers)) {
		m, err := method.New[Method](name, method.Answers)
		at := expect.At(t, "%s is not among the trials of these tests, or calls itself otherwise", name)
		expect.NoError(at, err)
		expect.Equal(at, "m.Name", m.Name(), name)
		expect.True(at, "have[name]", have[name])
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
