package nearest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Encodes turns texts into vectors of length one, as an [lm.Embedder] and an [lm.TrustedEmbedder] do. The vector of
// a text may depend on nothing but the text.
type Encodes interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Name() string
}

// Encoder remembers vectors of examples, which are public, and forgets those of questions. It is for one goroutine
// at a time.
type Encoder struct {
	encoder Encodes
	known   map[string][]float32
}

// New takes an encoder, which stays open.
func New(e Encodes) (*Encoder, error) {
	if t, ok := e.(lm.TrustedEmbedder); e == nil || ok && !t.Valid() {
		return nil, errors.New("the examples nearest to a question are found by an encoder of sentences, and there is none: run sotto model pull minilm")
	}
	return &Encoder{e, map[string][]float32{}}, nil
}

// Questions returns the vectors of questions.
func (e *Encoder) Questions(ctx context.Context, inputs []string) ([][]float32, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	out, err := e.encoder.Embed(ctx, inputs)
	if err == nil && len(out) != len(inputs) {
		err = fmt.Errorf("the encoder returned %d vectors for %d texts: this is a fault of the encoder", len(out), len(inputs))
	}
	return out, err
}

// Examples prepares those of a prompt that names this encoder. Ones that are there twice count once.
func (e *Encoder) Examples(ctx context.Context, p prompt.Prompt) (*Examples, error) {
	if name := e.encoder.Name(); p.Nearest.Encoder != name {
		return nil, fmt.Errorf("the examples nearest to a question are those by the encoder %s, and this one is %s: vectors of different encoders are not comparable; use the version of the program and of the encoder that the prompt was chosen with", p.Nearest.Encoder, name)
	}
	out := &Examples{limit: p.Nearest.Examples}
	var texts []string
	seen := map[prompt.Example]bool{}
	for _, x := range p.Examples {
		if seen[x] {
			continue
		}
		seen[x] = true
		out.list = append(out.list, x)
		if _, ok := e.known[x.Input]; !ok {
			e.known[x.Input] = nil
			texts = append(texts, x.Input)
		}
	}
	vectors, err := e.Questions(ctx, texts)
	for i, text := range texts {
		if delete(e.known, text); err == nil {
			e.known[text] = vectors[i]
		}
	}
	if err != nil {
		return nil, fmt.Errorf("encode examples: %w", err)
	}
	for _, x := range out.list {
		out.vectors = append(out.vectors, e.known[x.Input])
	}
	return out, nil
}

// Examples of a prompt, of which a question gets the nearest.
type Examples struct {
	list    []prompt.Example
	vectors [][]float32
	limit   int
}

// Of returns the examples for a question with this vector, the most similar last. Of equally similar ones the last of
// the prompt are taken, in their order.
func (x *Examples) Of(question []float32) []prompt.Example {
	likeness := make([]float32, len(x.list))
	order := make([]int, len(x.list))
	for i, v := range x.vectors {
		order[i] = i
		for j := range min(len(v), len(question)) {
			likeness[i] += v[j] * question[j]
		}
	}
	// What is no number is less than all others.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(likeness[a], likeness[b]) })
	order = order[max(0, len(order)-x.limit):]
	out := make([]prompt.Example, len(order))
	for i, at := range order {
		out[i] = x.list[at]
	}
	return out
}

// Picker picks the examples of one prompt. It is for many goroutines at a time if its encoder is.
type Picker struct {
	encoder  *Encoder
	examples *Examples
}

// Open prepares to pick examples of a prompt by the encoder that it names.
func Open(ctx context.Context, p prompt.Prompt, e Encodes) (*Picker, error) {
	encoder, err := New(e)
	if err != nil {
		return nil, err
	}
	x, err := encoder.Examples(ctx, p)
	return &Picker{encoder, x}, err
}

// Pick returns the examples for each question.
func (p *Picker) Pick(ctx context.Context, questions []string) ([][]prompt.Example, error) {
	vectors, err := p.encoder.Questions(ctx, questions)
	if err != nil {
		return nil, fmt.Errorf("encode questions: %w", err)
	}
	out := make([][]prompt.Example, len(vectors))
	for i, v := range vectors {
		out[i] = p.examples.Of(v)
	}
	return out, nil
}
