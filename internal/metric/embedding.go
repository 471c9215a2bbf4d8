package metric

import (
	"context"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/engine/bert"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lm"
)

// Encoder turns texts into vectors of their tokens.
type Encoder interface {
	// Name identifies the encoder and how it is used.
	Name() string
	// Tokens returns a vector of length one for each token of each text.
	Tokens(ctx context.Context, texts []string) ([][][]float32, error)
}

// EncoderOf returns the best that an encoder of sentences has: its vectors of word pieces in
// their sentence, as BERTScore does; or else, such as from a remote end point, those of each
// word alone, which then have no context.
func EncoderOf(e lm.Embedder) Encoder {
	if b, ok := e.(*bert.Encoder); ok {
		return contextEncoder{b}
	}
	return wordEncoder{e}
}

type contextEncoder struct{ e *bert.Encoder }

func (c contextEncoder) Name() string { return c.e.TokensName() + ", tokens in context" }

func (c contextEncoder) Tokens(ctx context.Context, texts []string) ([][][]float32, error) {
	list, err := c.e.Tokens(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([][][]float32, len(list))
	for i, tokens := range list {
		for _, t := range tokens {
			out[i] = append(out[i], t.Vector)
		}
	}
	return out, nil
}

type wordEncoder struct{ e lm.Embedder }

// askWords is the maximal number of words per request.
const askWords = 256

func (w wordEncoder) Name() string { return w.e.Name() + ", word by word" }

func (w wordEncoder) Tokens(ctx context.Context, texts []string) ([][][]float32, error) {
	var words []string
	place := map[string]int{}
	split := make([][]string, len(texts))
	for i, text := range texts {
		split[i] = Words(text)
		for _, word := range split[i] {
			if _, ok := place[word]; !ok {
				place[word] = len(words)
				words = append(words, word)
			}
		}
	}
	var vectors [][]float32
	for ask := range slices.Chunk(words, askWords) {
		got, err := w.e.Embed(ctx, ask)
		if err != nil {
			return nil, err
		}
		if len(got) != len(ask) {
			return nil, fmt.Errorf("%s gave %d vectors for %d words: use another encoder", w.e.Name(), len(got), len(ask))
		}
		vectors = append(vectors, got...)
	}
	out := make([][][]float32, len(texts))
	for i, list := range split {
		for _, word := range list {
			out[i] = append(out[i], vectors[place[word]])
		}
	}
	return out, nil
}

// Match is how well the tokens of a text match those of a reference.
type Match struct {
	// Precision is the mean over tokens of the text of the cosine with the most similar
	// token of the reference, Recall the same with sides changed, F1 their harmonic mean,
	// 0 where either is not positive.
	Precision, Recall, F1 float64
}

// embedding are the metrics that need an encoder, by name.
var embedding = map[string]func(Match) float64{
	"embedding_precision": func(m Match) float64 { return m.Precision },
	"embedding_recall":    func(m Match) float64 { return m.Recall },
	"embedding_f1":        func(m Match) float64 { return m.F1 },
}

func newEmbedding(name string, part func(Match) float64, o Options) Metric {
	m := Metric{name: fmt.Sprintf("%s (%s)", name, o.Encoder.Name())}
	m.score = func(ctx context.Context, pairs []Pair) ([]float64, error) {
		matches, err := Matches(ctx, pairs, o.Encoder)
		if err != nil {
			return nil, err
		}
		scores := make([]float64, len(matches))
		for i, match := range matches {
			scores[i] = part(match)
		}
		return scores, nil
	}
	return m
}

// askPairs is the maximal number of pairs that are embedded together: vectors of tokens are
// large.
const askPairs = 128

// Matches compares each answer with its reference by greedy matching of their tokens'
// vectors, after BERTScore without its baselines. A text without tokens matches nothing.
func Matches(ctx context.Context, pairs []Pair, e Encoder) ([]Match, error) {
	out := make([]Match, 0, len(pairs))
	for some := range slices.Chunk(pairs, askPairs) {
		texts := make([]string, 0, 2*len(some))
		for _, p := range some {
			texts = append(texts, p.Want, p.Got)
		}
		tokens, err := e.Tokens(ctx, texts)
		if err != nil {
			return nil, fmt.Errorf("embed tokens: %w", err)
		}
		if len(tokens) != len(texts) {
			return nil, fmt.Errorf("%s gave tokens of %d texts for %d: use another encoder", e.Name(), len(tokens), len(texts))
		}
		for i := range some {
			m, err := match(tokens[2*i], tokens[2*i+1])
			if err != nil {
				return nil, fmt.Errorf("answer %d: %w", len(out), err)
			}
			out = append(out, m)
		}
	}
	return out, nil
}

func match(want, got [][]float32) (Match, error) {
	if len(want) == 0 || len(got) == 0 {
		return Match{}, nil
	}
	bestWant, bestGot := slices.Repeat([]float64{-1}, len(want)), slices.Repeat([]float64{-1}, len(got))
	for i, w := range want {
		for j, g := range got {
			if len(w) != len(g) {
				return Match{}, fmt.Errorf("vectors have %d and %d numbers: use another encoder", len(w), len(g))
			}
			cosine := 0.0
			for k, v := range w {
				cosine += float64(v) * float64(g[k])
			}
			cosine = max(-1, min(1, cosine))
			bestWant[i], bestGot[j] = max(bestWant[i], cosine), max(bestGot[j], cosine)
		}
	}
	m := Match{Precision: stat.Mean(bestGot), Recall: stat.Mean(bestWant)}
	if m.Precision > 0 && m.Recall > 0 {
		m.F1 = 2 * m.Precision * m.Recall / (m.Precision + m.Recall)
	}
	return m, nil
}
