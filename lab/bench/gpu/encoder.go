package main

import (
	"context"
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/internal/metric"
	"github.com/sotto-dp/sotto/lab/suite"
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
	e, err := backend.Encoder("")
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
// write the same sentences, and every run of a suite adds up the same records.
type memory struct {
	lm.Embedder
	mu    sync.Mutex // also while it encodes: cells that need the same texts wait for the first
	known map[string][]float32
}

func remember(e lm.Embedder) *memory { return &memory{Embedder: e, known: map[string][]float32{}} }

// Embed gives vectors that nobody may change.
func (m *memory) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var missing []string
	asked := map[string]bool{}
	for _, t := range texts {
		if m.known[t] == nil && !asked[t] {
			asked[t] = true
			missing = append(missing, t)
		}
	}
	if len(missing) > 0 {
		vectors, err := m.Embedder.Embed(ctx, missing)
		if err != nil {
			return nil, err
		}
		for i, t := range missing {
			m.known[t] = vectors[i]
		}
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = m.known[t]
	}
	return out, nil
}
