package metric

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/bert"
)

// Token is a piece of a text with its vector.
type Token struct {
	// Key is the same for the same piece, by which rare ones are known.
	Key string
	// Vector has length one.
	Vector []float32
}

// Encoder turns texts into vectors of their tokens.
type Encoder interface {
	// Name identifies the encoder and how it is used.
	Name() string
	Tokens(ctx context.Context, texts []string) ([][]Token, error)
}

// InContext uses an encoder's vectors of word pieces in their sentence, as BERTScore does.
func InContext(e *bert.Encoder) Encoder { return inContext{e} }

type inContext struct{ e *bert.Encoder }

func (c inContext) Name() string { return c.e.Name() + ", tokens in context" }

func (c inContext) Tokens(ctx context.Context, texts []string) ([][]Token, error) {
	list, err := c.e.Tokens(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([][]Token, len(list))
	for i, tokens := range list {
		out[i] = make([]Token, len(tokens))
		for j, t := range tokens {
			out[i][j] = Token{Key: t.Piece, Vector: t.Vector}
		}
	}
	return out, nil
}

// WordByWord embeds each word alone with any sentence encoder, such as a remote end point.
// Words then have no context.
func WordByWord(e lm.Embedder) Encoder { return wordByWord{e} }

type wordByWord struct{ e lm.Embedder }

// askWords is the maximal number of words per request.
const askWords = 256

func (w wordByWord) Name() string { return w.e.Name() + ", word by word" }

func (w wordByWord) Tokens(ctx context.Context, texts []string) ([][]Token, error) {
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
	for from := 0; from < len(words); from += askWords {
		ask := words[from:min(from+askWords, len(words))]
		got, err := w.e.Embed(ctx, ask)
		if err != nil {
			return nil, err
		}
		if len(got) != len(ask) {
			return nil, fmt.Errorf("%s gave %d vectors for %d words: use another encoder", w.e.Name(), len(got), len(ask))
		}
		vectors = append(vectors, got...)
	}
	out := make([][]Token, len(texts))
	for i, list := range split {
		out[i] = make([]Token, len(list))
		for j, word := range list {
			out[i][j] = Token{Key: word, Vector: vectors[place[word]]}
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
	if o.Rare {
		m.name = fmt.Sprintf("%s (%s, rare tokens count more)", name, o.Encoder.Name())
	}
	m.score = func(ctx context.Context, pairs []Pair) ([]float64, error) {
		matches, err := Matches(ctx, pairs, o)
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
func Matches(ctx context.Context, pairs []Pair, o Options) ([]Match, error) {
	if o.Encoder == nil {
		return nil, errors.New("matching tokens needs an encoder: name a sentence encoder, such as minilm")
	}
	weight := func(string) float64 { return 1 }
	if o.Rare {
		var err error
		if weight, err = rarity(ctx, pairs, o.Encoder); err != nil {
			return nil, err
		}
	}
	out := make([]Match, 0, len(pairs))
	for some := range slices.Chunk(pairs, askPairs) {
		texts := make([]string, 0, 2*len(some))
		for _, p := range some {
			texts = append(texts, p.Want, p.Got)
		}
		tokens, err := tokens(ctx, o.Encoder, texts)
		if err != nil {
			return nil, err
		}
		for i := range some {
			m, err := match(tokens[2*i], tokens[2*i+1], weight)
			if err != nil {
				return nil, fmt.Errorf("answer %d: %w", len(out), err)
			}
			out = append(out, m)
		}
	}
	return out, nil
}

func tokens(ctx context.Context, e Encoder, texts []string) ([][]Token, error) {
	list, err := e.Tokens(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed tokens: %w", err)
	}
	if len(list) != len(texts) {
		return nil, fmt.Errorf("%s gave tokens of %d texts for %d: use another encoder", e.Name(), len(list), len(texts))
	}
	return list, nil
}

// rarity returns the negative logarithm of the share of wanted texts that have a token,
// with one added to both counts, as in BERTScore.
func rarity(ctx context.Context, pairs []Pair, e Encoder) (func(key string) float64, error) {
	have := map[string]int{}
	for some := range slices.Chunk(pairs, askPairs) {
		texts := make([]string, len(some))
		for i, p := range some {
			texts[i] = p.Want
		}
		list, err := tokens(ctx, e, texts)
		if err != nil {
			return nil, err
		}
		for _, text := range list {
			seen := map[string]bool{}
			for _, t := range text {
				if !seen[t.Key] {
					seen[t.Key] = true
					have[t.Key]++
				}
			}
		}
	}
	return func(key string) float64 { return math.Log(float64(len(pairs)+1) / float64(have[key]+1)) }, nil
}

func match(want, got []Token, weight func(string) float64) (Match, error) {
	if len(want) == 0 || len(got) == 0 {
		return Match{}, nil
	}
	bestWant, bestGot := fill(len(want), -1), fill(len(got), -1)
	for i, w := range want {
		for j, g := range got {
			if len(w.Vector) != len(g.Vector) {
				return Match{}, fmt.Errorf("vectors have %d and %d numbers: use another encoder", len(w.Vector), len(g.Vector))
			}
			cosine := 0.0
			for k, v := range w.Vector {
				cosine += float64(v) * float64(g.Vector[k])
			}
			cosine = max(-1, min(1, cosine))
			bestWant[i], bestGot[j] = max(bestWant[i], cosine), max(bestGot[j], cosine)
		}
	}
	m := Match{Precision: weighted(bestGot, got, weight), Recall: weighted(bestWant, want, weight)}
	if m.Precision > 0 && m.Recall > 0 {
		m.F1 = 2 * m.Precision * m.Recall / (m.Precision + m.Recall)
	}
	return m, nil
}

func fill(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// weighted mean of what tokens got; the plain one where all weights are zero, which is
// so for a single reference or words that all have.
func weighted(values []float64, tokens []Token, weight func(string) float64) float64 {
	var sum, weights, plain float64
	for i, t := range tokens {
		w := weight(t.Key)
		sum += w * values[i]
		weights += w
		plain += values[i]
	}
	if weights == 0 {
		return plain / float64(len(values))
	}
	return sum / weights
}
