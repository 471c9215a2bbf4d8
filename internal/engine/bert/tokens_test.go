package bert

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
)

// TestTokensMakeTheVector: what Embed averages, and what fixtures of
// sentence-transformers hold it to, are the rows that Tokens gives.
func TestTokensMakeTheVector(t *testing.T) {
	e := shared(t)
	ctx := context.Background()
	texts := readFixture(t).texts()
	texts = append(slices.Clone(texts[:20]), "", "stone wall", texts[len(texts)-1])
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := e.Tokens(ctx, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		var rows [][]float32
		err := e.encode(ctx, []string{text}, math.MaxInt, func(w *worker, _, _ int, ids []int32) bool {
			for place := range ids {
				rows = append(rows, slices.Clone(w.x[place*w.wideRow:][:e.width]))
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		ids := e.tokens.encode(text)
		if len(tokens[i]) != len(ids)-2 {
			t.Fatalf("%q: %d tokens, %d ids", text, len(tokens[i]), len(ids))
		}
		sum := make([]float32, e.width)
		for place, row := range rows {
			for k, v := range row {
				sum[k] += v
			}
			if place == 0 || place == len(rows)-1 {
				continue
			}
			token := tokens[i][place-1]
			if token.Piece != e.tokens.pieces[ids[place]] {
				t.Errorf("%q: token %d is %q", text, place-1, token.Piece)
			}
			if c := cosine(token.Vector, row); c < 1-1e-6 || math.Abs(squared(token.Vector)-1) > 1e-5 {
				t.Errorf("%q: token %q has cosine %v and squared length %v", text, token.Piece, c, squared(token.Vector))
			}
		}
		minimum := 1 - 1e-6
		if len(ids) >= short {
			minimum = 0.999 // that is in bytes
		}
		if c := cosine(sum, vectors[i]); c < minimum {
			t.Errorf("%q: the mean of tokens has cosine %v", text, c)
		}
	}
	if got := tokens[20]; len(got) != 0 {
		t.Errorf("an empty text has tokens %v", got)
	}
	if got := tokens[21]; got[0].Piece != "stone" || got[1].Piece != "wall" {
		t.Errorf("pieces %q and %q", got[0].Piece, got[1].Piece)
	}
}

func squared(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

func TestTokensDependOnTheSentenceAlone(t *testing.T) {
	e := shared(t)
	ctx := context.Background()
	texts := readFixture(t).texts()[:12]
	all, err := e.Tokens(ctx, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		alone, err := e.Tokens(ctx, []string{text})
		if err != nil {
			t.Fatal(err)
		}
		for j := range alone[0] {
			if !slices.Equal(alone[0][j].Vector, all[i][j].Vector) {
				t.Errorf("%q: token %d has another vector alone", text, j)
			}
		}
	}
	// In another sentence the same word has another vector.
	banks, err := e.Tokens(ctx, []string{"the bank of the river", "the bank of the money"})
	if err != nil {
		t.Fatal(err)
	}
	if c := cosine(banks[0][1].Vector, banks[1][1].Vector); c > 0.95 || banks[0][1].Piece != "bank" {
		t.Errorf("%q has cosine %v in two sentences", banks[0][1].Piece, c)
	}
}

func TestTokensRefuse(t *testing.T) {
	e := openEncoder(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := e.Tokens(ctx, []string{"a"}); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, error %v", got, err)
	}
	e.Close()
	if got, err := e.Tokens(context.Background(), []string{"a"}); got != nil || !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, error %v", got, err)
	}
}
