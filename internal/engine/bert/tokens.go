package bert

import (
	"context"
	"math"
)

// Token is a word piece of a text with its vector.
type Token struct {
	// Piece as in the vocabulary: with "##" in front if it continues a word.
	Piece string
	// Vector is the output of the last layer for this piece in its sentence, scaled to
	// length one.
	Vector []float32
}

// Tokens returns the word pieces of texts with their vectors in context, in the order of
// the texts. The tokens that frame every text are left out; an empty text has none. The
// guarantee of Embed holds here too. Those of a prefix are left out too. All is computed in float32: nothing averages the errors
// of bytes here. On an error, or when the context ends, there are none.
func (e *Encoder) Tokens(ctx context.Context, texts []string) ([][]Token, error) {
	out := make([][]Token, len(texts))
	err := e.encode(ctx, texts, math.MaxInt, func(w *worker, at, text int, ids []int32) bool {
		from := min(1+e.prefixed, len(ids)-1)
		tokens := make([]Token, 0, len(ids)-1-from)
		for place, id := range ids[from : len(ids)-1] {
			vector, ok := w.vector(at+from+place, 1)
			if !ok {
				return false
			}
			tokens = append(tokens, Token{Piece: e.tokens.pieces[id], Vector: vector})
		}
		out[text] = tokens
		return true
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
