package attack

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/lm"
)

// parrot is a model of bytes that repeats its context: after four bytes that it has seen, it expects what
// came after them.
type parrot struct {
	info lm.Info
	open int // sequences that were not dropped
}

func newParrot() *parrot {
	return &parrot{info: lm.Info{
		Name: "parrot", Backend: "parrot", Deterministic: true, BatchInvariant: true, Capacity: lm.Capacity{Context: 8192, Vocabulary: 256, Top: 256},
		Can: lm.Capabilities{Candidates: true, Top: true, All: true, Given: true, SharedPrefix: true},
	}}
}

func (p *parrot) trusted(t *testing.T) lm.TrustedScorer {
	t.Helper()
	m, err := lm.Trust(p, lm.InProcess)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var errParrot = errors.New("a parrot does not do that")

func (p *parrot) Info() lm.Info           { return p.info }
func (p *parrot) Usage() lm.Usage         { return lm.Usage{} }
func (p *parrot) Close() error            { return nil }
func (p *parrot) Tokenizer() lm.Tokenizer { return p }
func (p *parrot) Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error) {
	return nil, errParrot
}
func (p *parrot) Chat(context.Context, []lm.Message) ([]lm.Token, error) { return nil, errParrot }
func (p *parrot) Size() int                                              { return 256 }
func (p *parrot) Beginning() (lm.Token, bool)                            { return 1, true }
func (p *parrot) Control(k lm.Token) bool                                { return k < 2 }
func (p *parrot) Ends() []lm.Token                                       { return []lm.Token{0} }

func (p *parrot) Encode(_ context.Context, s string) (out []lm.Token, _ error) {
	for _, b := range []byte(s) {
		out = append(out, lm.Token(b))
	}
	return out, nil
}

func (p *parrot) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var b strings.Builder
	for _, k := range tokens {
		if !p.Control(k) {
			b.WriteByte(byte(k))
		}
	}
	return b.String(), nil
}

// expects are log-probabilities of what comes next.
func (p *parrot) expects(after []lm.Token) []float64 {
	const order = 4
	weights := make([]float64, 256)
	for i := range weights {
		weights[i] = 0.01
		if i == ' ' || i >= 'a' && i <= 'z' {
			weights[i] = 0.1
		}
	}
	if n := len(after); n >= order {
		for i := order; i < n; i++ {
			if slices.Equal(after[i-order:i], after[n-order:]) {
				weights[after[i]] += 10
			}
		}
	}
	sum := 0.
	for _, w := range weights {
		sum += w
	}
	for i, w := range weights {
		weights[i] = math.Log(w / sum)
	}
	return weights
}

func (p *parrot) Open(context.Context) (lm.Session, error) {
	return &parrotSession{p: p, sequences: map[lm.Sequence][]lm.Token{}}, nil
}

type parrotSession struct {
	p         *parrot
	sequences map[lm.Sequence][]lm.Token
	last      lm.Sequence
}

func (s *parrotSession) New() (lm.Sequence, error) {
	s.last++
	s.p.open++
	s.sequences[s.last] = nil
	return s.last, nil
}

func (s *parrotSession) Fork(q lm.Sequence) (lm.Sequence, error) {
	tokens, ok := s.sequences[q]
	if !ok {
		return 0, lm.ErrUnknownSequence
	}
	fork, err := s.New()
	s.sequences[fork] = slices.Clone(tokens)
	return fork, err
}

func (s *parrotSession) Drop(q lm.Sequence) error {
	if _, ok := s.sequences[q]; !ok {
		return lm.ErrUnknownSequence
	}
	s.p.open--
	delete(s.sequences, q)
	return nil
}

func (s *parrotSession) Len(q lm.Sequence) (int, error) { return len(s.sequences[q]), nil }
func (s *parrotSession) Usage() lm.Usage                { return lm.Usage{} }
func (s *parrotSession) Close() error                   { s.p.open -= len(s.sequences); return nil }

func (s *parrotSession) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := lm.CheckSteps(s.p.info, steps, func(q lm.Sequence) (int, bool) {
		tokens, ok := s.sequences[q]
		return len(tokens), ok
	}); err != nil {
		return nil, err
	}
	out := make([]lm.Scores, len(steps))
	for i, step := range steps {
		all := append(s.sequences[step.Sequence], step.Tokens...)
		s.sequences[step.Sequence] = all
		switch ask := step.Ask; {
		case ask.Given > 0:
			for at := len(all) - ask.Given; at < len(all); at++ {
				logs := s.p.expects(all[:at])
				out[i].Tokens, out[i].LogProbs = append(out[i].Tokens, all[at]), append(out[i].LogProbs, logs[all[at]])
				out[i].Best = append(out[i].Best, lm.Best(logs, 1)[0])
			}
		case ask.All:
			out[i].LogProbs = s.p.expects(all)
		case ask.Top > 0:
			logs := s.p.expects(all)
			for _, k := range lm.Best(logs, ask.Top) {
				out[i].Tokens, out[i].LogProbs = append(out[i].Tokens, k), append(out[i].LogProbs, logs[k])
			}
		case len(ask.Candidates) > 0:
			logs, some := s.p.expects(all), make([]float64, len(ask.Candidates))
			for j, k := range ask.Candidates {
				some[j] = logs[k]
			}
			out[i] = lm.Scores{Tokens: ask.Candidates, LogProbs: lm.LogSoftmax(some)}
		}
	}
	return out, nil
}
