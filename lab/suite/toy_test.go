package suite_test

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"
	"sync/atomic"

	"github.com/sotto-dp/sotto/lm"
)

// toy is a model for tests: its tokens are bytes, and what it likes next is a hash of the
// whole sequence. It can be told to fail.
type toy struct {
	name     string
	computed atomic.Int64
	steps    atomic.Int64
	// fault, if set, is asked before each step.
	fault func(step int64) error
}

func (t *toy) trusted() lm.TrustedScorer {
	m, err := lm.Trust(t, lm.InProcess)
	if err != nil {
		panic(err)
	}
	return m
}

func (t *toy) Info() lm.Info {
	return lm.Info{
		Name: t.name, Backend: "test", Fingerprint: "sha256:" + t.name, Deterministic: true, BatchInvariant: true,
		Capacity: lm.Capacity{Context: 1 << 16, Vocabulary: 256},
		Can:      lm.Capabilities{Generate: true, Candidates: true, Top: true, All: true, SharedPrefix: true},
	}
}
func (t *toy) Usage() lm.Usage       { return lm.Usage{Computed: t.computed.Load()} }
func (*toy) Close() error            { return nil }
func (*toy) Tokenizer() lm.Tokenizer { return letters{} }

func (t *toy) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	return lm.GenerateBySteps(ctx, t, prompts, o)
}

func (*toy) Chat(context.Context, []lm.Message) ([]lm.Token, error) {
	return nil, errors.New("the toy does not chat")
}

func (t *toy) Open(context.Context) (lm.Session, error) {
	return &toySession{toy: t, texts: map[lm.Sequence][]lm.Token{}}, nil
}

type letters struct{}

func (letters) Encode(_ context.Context, text string) ([]lm.Token, error) {
	var out []lm.Token
	for _, b := range []byte(text) {
		out = append(out, lm.Token(b))
	}
	return out, nil
}

func (letters) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte(byte(t))
	}
	return b.String(), nil
}

func (letters) Size() int                   { return 256 }
func (letters) Beginning() (lm.Token, bool) { return 0, false }
func (letters) Control(t lm.Token) bool     { return t == 0 }
func (letters) Ends() []lm.Token            { return []lm.Token{0} }

type toySession struct {
	toy   *toy
	next  lm.Sequence
	texts map[lm.Sequence][]lm.Token
	usage lm.Usage
}

func (s *toySession) New() (lm.Sequence, error) { return s.Fork(0) }

func (s *toySession) Fork(of lm.Sequence) (lm.Sequence, error) {
	s.next++
	s.texts[s.next] = s.texts[of][:len(s.texts[of]):len(s.texts[of])]
	return s.next, nil
}

func (s *toySession) Drop(q lm.Sequence) error {
	delete(s.texts, q)
	return nil
}

func (s *toySession) Len(q lm.Sequence) (int, error) { return len(s.texts[q]), nil }
func (s *toySession) Usage() lm.Usage                { return s.usage }
func (s *toySession) Close() error                   { return nil }

func (s *toySession) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if n := s.toy.steps.Add(1); s.toy.fault != nil {
		if err := s.toy.fault(n); err != nil {
			return nil, err
		}
	}
	out := make([]lm.Scores, len(steps))
	for i, step := range steps {
		s.texts[step.Sequence] = append(s.texts[step.Sequence], step.Tokens...)
		s.usage.Computed += int64(len(step.Tokens))
		s.usage.Cached += 3 // costs nothing, so that it may be in no figure
		s.toy.computed.Add(int64(len(step.Tokens)))
		if !step.Ask.IsZero() {
			out[i] = toyScores(s.texts[step.Sequence], step.Ask)
		}
	}
	return out, nil
}

// toyScores likes letters, some more than others, and a space or a line's end now and then.
func toyScores(text []lm.Token, ask lm.Ask) lm.Scores {
	h := fnv.New64a()
	for _, t := range text {
		_, _ = h.Write([]byte{byte(t)})
	}
	sum := h.Sum64()
	logit := func(t lm.Token) float64 {
		if t >= 'a' && t <= 'z' || t >= 'A' && t <= 'Z' || t == ' ' || t == '\n' {
			mixed := (sum ^ uint64(t)*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
			return float64(mixed >> 60)
		}
		return -20
	}
	tokens := ask.Candidates
	if tokens == nil {
		for t := range lm.Token(256) {
			tokens = append(tokens, t)
		}
	}
	logits := make([]float64, len(tokens))
	for i, t := range tokens {
		logits[i] = logit(t)
	}
	s := lm.Scores{Tokens: tokens, LogProbs: lm.LogSoftmax(logits)}
	if ask.All {
		s.Tokens = nil
	}
	if ask.Top > 0 {
		all := s.LogProbs
		s = lm.Scores{Tokens: lm.Best(all, ask.Top)}
		for _, t := range s.Tokens {
			s.LogProbs = append(s.LogProbs, all[t])
		}
	}
	return s
}
