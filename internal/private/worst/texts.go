package worst

import (
	"context"
	"math"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// The record shouts for candidate 0. What the model says without it is public.
const shout = 60

// only are log-probabilities of n candidates, all on one of them.
func only(n, at int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = -shout
	}
	out[at] = 0
	return out
}

// text is a game of texts of so many tokens: scores of the candidates come from a table instead of
// a model, draws and choices are the program's.
type text struct {
	name, inputs  string
	method        decode.Method
	tokens, texts int
	others        int
	public        []float64
	record, other []float64
	delta         float64
	tight         bool
}

// texts are the methods that write, token by token.
func texts() ([]Game, error) {
	draw := func(rate float64, per scheme.Per, prompts int) scheme.Scheme {
		s := scheme.Scheme{Kind: scheme.Poisson, Per: per, Rate: rate, Prompts: prompts}
		if prompts > 0 {
			s.PerPrompt = 1
		}
		return s
	}
	// Two candidates of which the public scores have the first one seldom, and one that nobody
	// takes, which is the median of what a record says.
	seldom := func(p float64) []float64 { return []float64{math.Log(p), -shout, math.Log1p(-p)} }
	loud := []float64{0, -shout, -2 * shout}
	var games []Game
	for _, t := range []text{
		{
			name: "gaussian", inputs: "one token of one prompt, which is all for one candidate with the record and all for another without it",
			method: &decode.Gaussian{Draw: draw(1, scheme.PerToken, 1), Sigma: 1}, tokens: 1,
			public: only(2, 1), record: only(2, 0), delta: 1e-5, tight: true,
		},
		{
			name: "gaussian text", inputs: "two texts of 5 tokens, each token drawn with probability 0.5",
			method: &decode.Gaussian{Draw: draw(0.5, scheme.PerToken, 1), Sigma: 1}, tokens: 5, texts: 2,
			public: only(2, 1), record: only(2, 0), delta: 1e-5,
		},
		{
			name: "noisymax", inputs: "one token of three prompts, one of which changes sides with the record",
			method: &decode.NoisyMax{Draw: draw(1, scheme.PerToken, 3), Epsilon: 2}, tokens: 1,
			public: only(2, 1), record: only(2, 0), tight: true,
		},
		{
			name: "radius", inputs: "one token of three prompts, one of which changes sides with the record",
			method: &decode.Radius{Draw: draw(1, scheme.PerToken, 3), Candidates: 2, Sigma0: 6, Sigma1: 1, Sigma2: 3, Lambda: 0.2, Rounds: 1}, tokens: 1,
			public: only(2, 1), record: only(2, 0), delta: 1e-5,
		},
		{
			name: "clipped", inputs: "one token that is chosen in 10 % of the runs without the record, and a record that is for it as far as clipping lets it",
			method: &decode.Clipped{Draw: draw(1, scheme.PerText, 0), Expected: 4, Range: 1, Temperature: 0.5, Candidates: 3}, tokens: 1,
			public: seldom(0.25), record: loud, tight: true,
		},
		{
			name: "clipped text", inputs: "two texts of 8 tokens, each drawn with probability 0.5, and the record as before",
			method: &decode.Clipped{Draw: draw(0.5, scheme.PerText, 0), Expected: 4, Range: 1, Temperature: 0.5, Candidates: 3}, tokens: 8, texts: 2,
			public: seldom(0.4), record: loud, delta: 1e-5, tight: true,
		},
		{
			name: "clipped, fixed size", inputs: "a draw of one of two records, one of which is exchanged for its opposite",
			method: &decode.Clipped{Draw: scheme.Scheme{Kind: scheme.FixedSize, Per: scheme.PerText, Take: 1, Of: 2}, Expected: 1, Range: 1, Temperature: 1, Candidates: 3}, tokens: 8,
			others: 1, public: seldom(0.4), record: loud, other: []float64{-2 * shout, -shout, 0}, delta: 1e-5,
		},
		{
			name: "mixing", inputs: "one token that is chosen in 10 % of the runs without the record, and a record that is for it as far as mixing lets it",
			method: &decode.Mixing{Draw: draw(1, scheme.PerText, 0), Expected: 4, Range: 1, Temperature: 0.5, Candidates: 3}, tokens: 1,
			public: seldom(0.25), record: loud, tight: true,
		},
		{
			name: "mixing text", inputs: "two texts of 8 tokens, each drawn with probability 0.5, and the record as before",
			method: &decode.Mixing{Draw: draw(0.5, scheme.PerText, 0), Expected: 4, Range: 1, Temperature: 0.5, Candidates: 3}, tokens: 8, texts: 2,
			public: seldom(0.4), record: loud, delta: 1e-5, tight: true,
		},
	} {
		g, err := t.game()
		if err != nil {
			return nil, err
		}
		games = append(games, g)
	}
	return games, nil
}

func (t text) game() (Game, error) {
	if err := t.method.Check(); err != nil {
		return Game{}, err
	}
	t.texts = max(1, t.texts)
	s := t.method.Scheme()
	event := s.Texts(decode.TextEvent(t.method, t.tokens), int64(t.texts))
	t.public = lm.LogSoftmax(t.public)
	return Game{
		Name: t.name, Inputs: t.inputs, Claim: privacy.Canonical(event), Adjacency: s.Adjacency(), Delta: t.delta, Tight: t.tight, player: always(t.play),
	}, nil
}

// play draws and chooses as package decode does, and counts how often candidate 0 was chosen.
func (t text) play(_ context.Context, key noise.Key, with bool) (float64, error) {
	exchanged := t.other != nil // by another one
	pool := among(with || exchanged, "", "", make([]string, t.others)...)
	drawer := draw.NewDrawer(pool, key)
	// The record is the last of the pool.
	last := int64(len(pool.records))
	said := t.record
	if !with {
		said = t.other
	}
	score := 0.
	for i := range t.texts {
		place := draw.Text{Index: uint64(i), Place: int64(i)}
		samples, err := drawer.Draw(t.method.Scheme(), place, t.tokens)
		if err != nil {
			return 0, err
		}
		for token := range t.tokens {
			sample := samples[min(token, len(samples)-1)]
			v := decode.View{Public: t.public, Base: t.public, Empty: sample.Empty}
			for _, prompt := range sample.Prompts {
				scores := t.public
				for _, ref := range prompt {
					if ordinal, _ := seal.Place(ref); said != nil && ordinal == last {
						scores = said
					}
				}
				v.Prompts = append(v.Prompts, scores)
			}
			at, err := t.method.Select(v, key.Stream("pick", uint64(i), uint64(token)))
			if err != nil {
				return 0, err
			}
			if at == 0 {
				score++
			}
		}
	}
	return score, nil
}
