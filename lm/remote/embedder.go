package remote

import (
	"context"
	"math"

	"github.com/sotto-dp/sotto/lm"
)

// embedBatch is the maximal number of texts in one request.
const embedBatch = 64

// embedLimit bounds the answer to a request for vectors: up to 16384 numbers each.
func embedLimit(texts int) int64 { return maxErrorReply + int64(texts)*16384*24 }

type embedder struct {
	*Client
	dimension int
}

var _ lm.Embedder = (*embedder)(nil)

// Embedder returns the model's sentence embeddings, or an *lm.UnsupportedError. It shares
// the client's connections and ends with it.
func (c *Client) Embedder(ctx context.Context) (lm.Embedder, error) {
	if !c.info.Can.Embed {
		return nil, &lm.UnsupportedError{Backend: c.info.Backend, What: "embed sentences", Missing: "the server does not embed with this model; choose an embedding model"}
	}
	e := &embedder{Client: c}
	first, err := e.Embed(ctx, []string{"1"})
	if err != nil {
		return nil, err
	}
	e.dimension = len(first[0])
	return e, nil
}

func (e *embedder) Dimension() int { return e.dimension }
func (e *embedder) Name() string   { return e.info.Backend + "/" + e.info.Name }

func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	batches := (len(texts) + embedBatch - 1) / embedBatch
	if batches == 0 {
		return out, e.wire.over(ctx)
	}
	err := each(ctx, e.wire.options.Concurrency, batches, func(ctx context.Context, b int) error {
		from, to := b*embedBatch, min((b+1)*embedBatch, len(texts))
		vectors, err := e.dialect.embed(ctx, e.Client, texts[from:to])
		if err != nil {
			return err
		}
		e.spend(lm.Usage{Requests: 1})
		for i, v := range vectors {
			if e.dimension != 0 && len(v) != e.dimension || len(v) > maxDimension || !unit(v) {
				return &ReplyError{Backend: e.info.Backend, Path: "a text to embed", Why: "a vector is zero, not finite, too long or of another length"}
			}
			out[from+i] = v
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// unit scales a vector to length one and reports whether it has a direction.
func unit(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if !(length > 0) || math.IsInf(length, 1) {
		return false
	}
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
	return true
}
