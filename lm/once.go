package lm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Once returns the same encoder, which computes the vector of a text once and keeps it in memory, and about
// how long it would have taken for what it was asked again.
func (t TrustedEmbedder) Once() (TrustedEmbedder, func() time.Duration) {
	o := &once{Embedder: t.embedder, vectors: map[string][]float32{}}
	return TrustedEmbedder{o, t.basis}, o.saved
}

// once is an encoder that computes a text once.
type once struct {
	Embedder
	mu      sync.Mutex
	vectors map[string][]float32
	asked   int
	took    time.Duration
}

func (o *once) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := map[string]bool{}
	var missing []string
	for _, t := range texts {
		if o.vectors[t] == nil && !seen[t] {
			seen[t] = true
			missing = append(missing, t)
		}
	}
	if len(missing) > 0 {
		begin := time.Now()
		computed, err := o.Embedder.Embed(ctx, missing)
		if err != nil {
			return nil, err
		}
		if len(computed) != len(missing) {
			return nil, fmt.Errorf("the encoder gave %d vectors for %d texts", len(computed), len(missing))
		}
		o.took += time.Since(begin)
		for i, t := range missing {
			o.vectors[t] = computed[i]
		}
	}
	o.asked += len(texts)
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = slices.Clone(o.vectors[t])
	}
	return out, nil
}

func (o *once) saved() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.vectors) == 0 {
		return 0
	}
	return o.took / time.Duration(len(o.vectors)) * time.Duration(o.asked-len(o.vectors))
}

func (o *once) Fingerprint() string { return fingerprintOf(o.Embedder) }
