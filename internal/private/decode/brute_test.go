package decode

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw/drawtest"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
)

func oneEach(prompts int) scheme.Scheme {
	return scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.4, Prompts: prompts, PerPrompt: 1}
}

func perText(rate float64) scheme.Scheme {
	return scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: rate}
}

// world is a model of a few tokens: any scores for any records after any text.
type world struct {
	tokens int
	scores func(records []int, text int, prefix []int) []float64
}

// worlds are adversarial in different ways. Record 0 is the one that comes and goes.
func worlds(tokens int, seed uint64) world {
	random := rand.New(rand.NewPCG(seed, 7))
	style := random.IntN(4)
	known := map[string][]float64{}
	draw := func() []float64 {
		out := make([]float64, tokens)
		for i := range out {
			out[i] = random.NormFloat64() * 2
		}
		switch random.IntN(3) {
		case 0:
			for i := range out {
				out[i] = -50
			}
			out[random.IntN(tokens)] = 0
		case 1:
			for i := range out {
				out[i] = 50 * float64(random.IntN(3)-1)
			}
		}
		return normalised(out)
	}
	return world{tokens, func(records []int, text int, prefix []int) []float64 {
		key := fmt.Sprint(records, text, prefix)
		if slices.Contains(records, 0) && style > 0 {
			// The record shouts the same, alone or not; in style 2 and 3 after any
			// text, and in 3 every record but it shouts against it.
			key = fmt.Sprint("record 0", text, prefix)
			if style > 1 {
				return hot(tokens, 0)
			}
		}
		if len(records) > 0 && style == 3 {
			return hot(tokens, 1)
		}
		if known[key] == nil {
			known[key] = draw()
		}
		return known[key]
	}}
}

func hot(tokens, at int) []float64 {
	out := make([]float64, tokens)
	for i := range out {
		out[i] = -60
	}
	out[at] = 0
	return out
}

func normalised(scores []float64) []float64 {
	total := 0.0
	top := slices.Max(scores)
	for _, s := range scores {
		total += math.Exp(s - top)
	}
	for i := range scores {
		scores[i] -= top + math.Log(total)
	}
	return scores
}

// joint is what the draws of all texts gave together.
type joint struct {
	probability float64
	texts       []drawtest.Outcome
}

// single are the draws of one text.
func single(l scheme.Scheme, n int) []joint {
	var out []joint
	for _, o := range drawtest.Outcomes(l, n) {
		out = append(out, joint{o.Probability, []drawtest.Outcome{o}})
	}
	return out
}

// batches are those of as many texts as there are disjoint batches.
func batches(l scheme.Scheme, n int) []joint {
	all := int(math.Pow(float64(l.Batches), float64(n)) + 0.5)
	var out []joint
	for code := range all {
		j := joint{1 / float64(all), make([]drawtest.Outcome, l.Batches)}
		for unit, rest := 0, code; unit < n; unit++ {
			b := &j.texts[rest%int(l.Batches)]
			b.Prompts = append(b.Prompts, []int{unit})
			rest /= int(l.Batches)
		}
		out = append(out, j)
	}
	return out
}

// trial is a method on a tiny data set, short texts and few tokens: small enough to list
// everything that can happen.
type trial struct {
	subject
	records, tokens, steps, texts int
	draws                         func(l scheme.Scheme, n int) []joint
	// worlds to look at: enough to find what is planted.
	worlds int
	// kept draws serve all tokens, whatever the scheme says: for planted bugs.
	kept bool
	// choose, if set, says which tokens are candidates after a text.
	choose func(v View, prefix []int) []candidate
}

// mustContain are the candidates where a text of so many tokens has to have "ba" in it,
// not from its first token on. of are the scores that rules look at.
func mustContain(tokens int, of func(View) []float64) func(View, []int) []candidate {
	w := &Writer{Options: Options{Tokens: tokens}, tokenizer: letters{}, rules: Rules{Contain: true, Favour: 2, After: 1, Penalty: 0.7, NoRepeat: 2}, ends: map[lm.Token]bool{}}
	return func(v View, prefix []int) []candidate {
		t := &text{Job: Job{Condition: "BA"}, phrase: []lm.Token{1, 0}, after: 1}
		for _, token := range prefix {
			t.tokens = append(t.tokens, lm.Token(token))
		}
		list, err := w.candidates(context.Background(), lm.Scores{LogProbs: slices.Clone(of(v))}, t, Shortlist{Best: 2, Margin: 1})
		if err != nil {
			panic(err)
		}
		return list
	}
}

func publicScores(v View) []float64 { return v.Public }

// recordScores are those of a prompt with records, where there is one.
func recordScores(v View) []float64 {
	if len(v.Prompts) > 0 {
		return v.Prompts[0]
	}
	return v.Public
}

// among are the chances of all tokens where only candidates have one.
func (c trial) among(v View, candidates []candidate) []float64 {
	var scores []lm.Scores
	for _, p := range v.Prompts {
		var own []float64
		for _, s := range candidates {
			own = append(own, p[s.token])
		}
		scores = append(scores, lm.Scores{LogProbs: lm.LogSoftmax(own)})
	}
	out := make([]float64, len(v.Public))
	for i, p := range c.chances((&text{empty: []int{v.Empty}}).view(candidates, scores)) {
		out[candidates[i].token] = p
	}
	return out
}

// members are the records of two adjacent data sets.
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

// cast are the chances of the next token, which only depend on what prompts hold.
func (c trial) cast(w world, members []int, o drawtest.Outcome, text int, prefix []int, known map[string][]float64) []float64 {
	v := View{Public: w.scores(nil, text, prefix), Empty: o.Empty}
	v.Base = v.Public
	var names []string
	for _, prompt := range o.Prompts {
		var records []int
		for _, unit := range prompt {
			records = append(records, members[unit])
		}
		names = append(names, fmt.Sprint(records))
		v.Prompts = append(v.Prompts, w.scores(records, text, prefix))
	}
	slices.Sort(names)
	key := fmt.Sprint(names, o.Empty, text, prefix)
	switch {
	case known[key] != nil:
	case c.choose != nil:
		known[key] = c.among(v, c.choose(v, prefix))
	default:
		known[key] = c.chances(v)
	}
	return known[key]
}

// texts of all steps and their probabilities, by number.
func (c trial) distribution(w world, members []int, known map[string][]float64) []float64 {
	draws := c.draws(c.Scheme(), len(members))
	if c.Scheme().Per == scheme.PerToken && !c.kept {
		return c.extend(c.steps, nil, func(prefix []int) []float64 {
			out := make([]float64, c.tokens)
			for _, j := range draws {
				for i, p := range c.cast(w, members, j.texts[0], 0, prefix, known) {
					out[i] += j.probability * p
				}
			}
			return out
		})
	}
	var out []float64
	for _, j := range draws {
		product := []float64{j.probability}
		for text, o := range j.texts {
			var next []float64
			one := c.extend(c.steps, nil, func(prefix []int) []float64 { return c.cast(w, members, o, text, prefix, known) })
			for _, p := range product {
				for _, q := range one {
					next = append(next, p*q)
				}
			}
			product = next
		}
		if out == nil {
			out = make([]float64, len(product))
		}
		for i, p := range product {
			out[i] += p
		}
	}
	return out
}

func (c trial) extend(steps int, prefix []int, next func([]int) []float64) []float64 {
	if steps == 0 {
		return []float64{1}
	}
	var out []float64
	for token, p := range next(prefix) {
		for _, q := range c.extend(steps-1, append(slices.Clone(prefix), token), next) {
			out = append(out, p*q)
		}
	}
	return out
}

// levels of ε at which divergences are compared.
var levels = []float64{0, 0.1, 0.3, 0.7, 1.2, 2, 3}

// declared are the δ of the declared event at the levels: upper ends.
func (c trial) declared(t testing.TB) []float64 {
	t.Helper()
	event := c.Scheme().Texts(TextEvent(c.Method, c.steps), int64(c.texts))
	var out []float64
	for _, epsilon := range levels {
		d, err := accountant.Auto{Tolerance: 0.005}.Delta(event, c.Scheme().Adjacency(), epsilon)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d.Upper)
	}
	return out
}

// divergences at the levels, the larger of both directions.
func divergences(p, q []float64) []float64 {
	out := make([]float64, len(levels))
	for at, epsilon := range levels {
		there, back := 0.0, 0.0
		for i := range p {
			there += max(0, p[i]-math.Exp(epsilon)*q[i])
			back += max(0, q[i]-math.Exp(epsilon)*p[i])
		}
		out[at] = max(there, back)
	}
	return out
}

// worst is the largest ratio of what is to what is declared, over worlds and levels.
// What was declared is exceeded when it is above one, and then no further world is looked
// at. Divergences below 1e-12 are the rounding of sums of products.
func (c trial) worst(t testing.TB) float64 {
	t.Helper()
	bounds := c.declared(t)
	with, without := c.members()
	worst := 0.0
	for seed := range uint64(c.worlds) {
		w := worlds(c.tokens, seed)
		known := map[string][]float64{}
		p, q := c.distribution(w, with, known), c.distribution(w, without, known)
		for _, d := range [][]float64{p, q} {
			total := 0.0
			for _, x := range d {
				total += x
			}
			if math.Abs(total-1) > 1e-9 {
				t.Fatalf("probabilities add up to %v", total)
			}
		}
		for i, d := range divergences(p, q) {
			worst = max(worst, (d-1e-12)/bounds[i])
		}
		if worst > 1 {
			break
		}
	}
	return worst
}

func trials() map[string]trial {
	pair := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.4, Prompts: 2, PerPrompt: 2}
	exact := scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerToken, Take: 2, Of: 3, Prompts: 2, PerPrompt: 1}
	several := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerText, Rate: 0.5, Prompts: 2, PerPrompt: 2}
	clipped := func(l scheme.Scheme, centre Centre) subject {
		return clippedSubject(&Clipped{Draw: l, Expected: 1.5, Range: 1.2, Temperature: 0.7, Candidates: 2, Centre: centre})
	}
	mixing := func(l scheme.Scheme, temperature, maxLambda float64) subject {
		return mixingSubject(&Mixing{Draw: l, Expected: 1.5, Range: 1.2, Temperature: temperature, MaxLambda: maxLambda, Candidates: 2})
	}
	return map[string]trial{
		"gaussian":                  {subject: gaussianSubject(&Gaussian{Draw: pair, Sigma: 0.8}), records: 2, tokens: 2, steps: 2, worlds: 100},
		"gaussian, three tokens":    {subject: gaussianSubject(&Gaussian{Draw: oneEach(2), Sigma: 0.8}), records: 2, tokens: 3, steps: 2, worlds: 40},
		"gaussian, fixed size":      {subject: gaussianSubject(&Gaussian{Draw: exact, Sigma: 1.1}), records: 3, tokens: 2, steps: 2, worlds: 100},
		"noisymax":                  {subject: noisyMaxSubject(&NoisyMax{Draw: pair, Epsilon: 0.9}), records: 2, tokens: 3, steps: 2, worlds: 100},
		"radius":                    {subject: radiusSubject(&Radius{Draw: oneEach(2), Sigma0: 2, Sigma1: 0.9, Sigma2: 1.5, Lambda: 0.1, Rounds: 1}), records: 2, tokens: 2, steps: 1, worlds: 8},
		"clipped":                   {subject: clipped(perText(0.3), ""), records: 3, tokens: 3, steps: 3, worlds: 100},
		"clipped, two tokens":       {subject: clipped(perText(0.3), Uncentred), records: 2, tokens: 2, steps: 3, worlds: 100},
		"clipped, several a prompt": {subject: clipped(several, MidRange), records: 3, tokens: 2, steps: 2, worlds: 100},
		"clipped, fixed size":       {subject: clipped(scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 2, Of: 3}, MidRange), records: 3, tokens: 2, steps: 2, worlds: 100},
		"clipped, two texts":        {subject: clipped(perText(0.4), MidRange), records: 2, tokens: 2, steps: 1, texts: 2, draws: independent, worlds: 100},
		"clipped, disjoint":         {subject: clipped(scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 2}, MidRange), records: 3, tokens: 2, steps: 2, texts: 2, draws: batches, worlds: 100},
		"gaussian, contain":         {subject: gaussianSubject(&Gaussian{Draw: pair, Sigma: 0.8}), records: 2, tokens: 3, steps: 4, choose: mustContain(4, publicScores), worlds: 20},
		"mixing":                    {subject: mixing(perText(0.3), 1, 0), records: 3, tokens: 3, steps: 3, worlds: 100},
		"mixing, product":           {subject: mixing(perText(0.3), 1/1.5, 0), records: 2, tokens: 2, steps: 3, worlds: 100},
		"mixing, much":              {subject: mixing(perText(0.3), 1, 50), records: 2, tokens: 3, steps: 2, worlds: 100},
		"mixing, per token":         {subject: mixing(scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 0.4}, 1, 0), records: 2, tokens: 2, steps: 3, worlds: 100},
		"mixing, several a prompt":  {subject: mixing(several, 1, 0), records: 3, tokens: 2, steps: 2, worlds: 100},
		"mixing, fixed size":        {subject: mixing(scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 2, Of: 3}, 1, 0), records: 3, tokens: 2, steps: 2, worlds: 100},
		"mixing, two texts":         {subject: mixing(perText(0.4), 1, 0), records: 2, tokens: 2, steps: 1, texts: 2, draws: independent, worlds: 100},
		"mixing, disjoint":          {subject: mixing(scheme.Scheme{Kind: scheme.Disjoint, Per: scheme.PerText, Batches: 2}, 1, 0), records: 3, tokens: 2, steps: 2, texts: 2, draws: batches, worlds: 100},
		"mixing, contain":           {subject: mixing(perText(0.3), 1, 0), records: 3, tokens: 3, steps: 4, choose: mustContain(4, publicScores), worlds: 25},
		"clipped, contain":          {subject: clipped(perText(0.3), ""), records: 3, tokens: 3, steps: 4, choose: mustContain(4, publicScores), worlds: 25},
	}
}

func (c trial) withDefaults() trial {
	if c.draws == nil {
		c.draws = single
	}
	c.texts = max(1, c.texts)
	return c
}

// TestWholeMechanism computes the exact distribution of released texts for adjacent data
// sets, draws included, and holds their divergence against what is declared.
func TestWholeMechanism(t *testing.T) {
	for name, c := range trials() {
		t.Run(name, func(t *testing.T) {
			worst := c.withDefaults().worst(t)
			t.Logf("reaches %.3f of what is declared", worst)
			if worst > 1 {
				t.Errorf("texts reveal %.3f times what is declared", worst)
			}
		})
	}
}
