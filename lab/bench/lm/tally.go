package main

import (
	"context"
	"time"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/gguf"
)

// sizes of a model's matrices: those of the layers, which every token goes through, and
// the head, of which each asked token is a row.
type sizes struct {
	body  float64 // weights of the layers
	width float64 // weights of a row of the head
	// Bytes of the same, packed, as the engine reads them.
	bodyBytes, headBytes float64
}

// sizesOf reads a file. Its two parts share the packed bytes as they share the file's.
func sizesOf(path string, packed int64) (sizes, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return sizes{}, err
	}
	defer file.Close()
	head := "output.weight"
	if _, ok := file.Tensor(head); !ok {
		head = "token_embd.weight" // it is both
	}
	var s sizes
	for _, t := range file.Tensors() {
		data, err := t.Bytes()
		if err != nil {
			return sizes{}, err
		}
		switch {
		case t.Name == head:
			s.width, s.headBytes = float64(t.Cols()), float64(len(data))
		case len(t.Dims) == 2 && t.Name != "token_embd.weight":
			s.body += float64(t.Rows()) * float64(t.Cols())
			s.bodyBytes += float64(len(data))
		}
	}
	scale := float64(packed) / (s.bodyBytes + s.headBytes)
	s.bodyBytes *= scale
	s.headBytes *= scale
	return s, nil
}

// tally is a session that counts what its steps take at least:
//
//	operations = 2 × weights × tokens, where a row of the head counts where it is asked for
//	bytes      = the packed weights once for each step; the head where all of it is asked for
//
// Attention is in neither.
type tally struct {
	lm.Session
	sizes
	bytes float64
}

func (t *tally) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	var more, whole bool
	for _, s := range steps {
		more = more || len(s.Tokens) > 0
		whole = whole || s.Ask.All || s.Ask.Top > 0 || s.Ask.Given > 0
	}
	if more {
		t.bytes += t.bodyBytes
	}
	if whole {
		t.bytes += t.headBytes
	}
	return t.Session.Step(ctx, steps)
}

// begin starts to time and to count; what it returns ends that.
func (t *tally) begin() func() answer {
	bytes, used, began := t.bytes, t.Usage(), time.Now()
	return func() answer {
		took, now := time.Since(began).Seconds(), t.Usage()
		computed, rows := now.Computed-used.Computed, now.Rows-used.Rows
		return answer{
			Seconds: took, Computed: computed, Bytes: t.bytes - bytes,
			Operations: 2 * (t.body*float64(computed) + t.width*float64(rows)),
		}
	}
}
