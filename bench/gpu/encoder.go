package main

import (
	"context"
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/eval/metric"
	"github.com/sotto-dp/sotto/eval/suite"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
)

// encoders are what a suite with written answers measures and answers with. They run on
// the processors, beside the model.
type encoders struct {
	tokens    metric.Encoder
	sentences lm.TrustedEmbedder
}

// newEncoders opens the sentence encoder where cells have answers that are texts.
func newEncoders(cells []suite.Cell) (encoders, error) {
	if !slices.ContainsFunc(cells, func(c suite.Cell) bool { return c.Task.Kind == prompt.Generate || c.Encodes() }) {
		return encoders{}, nil
	}
	e, err := backend.Encoder()
	if err != nil {
		return encoders{}, err
	}
	sentences, err := lm.TrustEmbedder(remember(e), lm.InProcess)
	return encoders{metric.EncoderOf(e), sentences}, err
}

func (e encoders) close() {
	if e.sentences.Valid() {
		e.sentences.Close()
	}
}

// memory is an encoder that keeps what it was asked: at another ε the same prompts mostly
// write the same sentences.
type memory struct {
	lm.Embedder
	mu    sync.Mutex
	known map[string][]float32
}

func remember(e lm.Embedder) *memory { return &memory{Embedder: e, known: map[string][]float32{}} }

// Embed gives vectors that nobody may change.
func (m *memory) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var missing []string
	m.mu.Lock()
	asked := map[string]bool{}
	for i, t := range texts {
		if out[i] = m.known[t]; out[i] == nil && !asked[t] {
			asked[t] = true
			missing = append(missing, t)
		}
	}
	m.mu.Unlock()
	if len(missing) == 0 {
		return out, nil
	}
	vectors, err := m.Embedder.Embed(ctx, missing)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, t := range missing {
		m.known[t] = vectors[i]
	}
	for i, t := range texts {
		out[i] = m.known[t]
	}
	return out, nil
}
