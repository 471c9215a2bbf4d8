package main

import (
	"context"
	"errors"
	"hash/fnv"

	"github.com/sotto-dp/sotto/lm"
)

// toy is a model for tests: its tokens are bytes, and what it likes next is a hash of all
// before.
type toy struct{}

func (toy) Info() lm.Info {
	return lm.Info{
		Name: "toy", Backend: "test", Fingerprint: "sha256:toy", Deterministic: true, BatchInvariant: true,
		Capacity: lm.Capacity{Context: 1 << 16, Vocabulary: 256},
		Can:      lm.Capabilities{Candidates: true, Top: true, All: true, SharedPrefix: true},
	}
}

func (toy) Usage() lm.Usage         { return lm.Usage{} }
func (toy) Close() error            { return nil }
func (toy) Tokenizer() lm.Tokenizer { return letters{} }

func (toy) Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error) {
	return nil, errors.New("the toy is asked for scores alone")
}

func (toy) Chat(context.Context, []lm.Message) ([]lm.Token, error) {
	return nil, errors.New("the toy does not chat")
}

func (toy) Open(context.Context) (lm.Session, error) {
	return &toySession{texts: map[lm.Sequence][]byte{}}, nil
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
	var out []byte
	for _, t := range tokens {
		out = append(out, byte(t))
	}
	return string(out), nil
}

func (letters) Size() int                   { return 256 }
func (letters) Beginning() (lm.Token, bool) { return 0, false }
func (letters) Control(lm.Token) bool       { return false }
func (letters) Ends() []lm.Token            { return []lm.Token{0} }

type toySession struct {
	next  lm.Sequence
	texts map[lm.Sequence][]byte
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

func (s *toySession) Step(_ context.Context, steps []lm.Step) ([]lm.Scores, error) {
	out := make([]lm.Scores, len(steps))
	for i, step := range steps {
		for _, t := range step.Tokens {
			s.texts[step.Sequence] = append(s.texts[step.Sequence], byte(t))
		}
		s.usage.Computed += int64(len(step.Tokens))
		if !step.Ask.IsZero() {
			out[i] = toyScores(s.texts[step.Sequence], step.Ask)
		}
	}
	return out, nil
}

// toyScores likes letters and spaces, some more than others.
func toyScores(text []byte, ask lm.Ask) lm.Scores {
	h := fnv.New64a()
	h.Write(text)
	all := make([]float64, 256)
	for t := range all {
		all[t] = -20
		if t == ' ' || t >= 'a' && t <= 'z' {
			all[t] = float64((h.Sum64() ^ uint64(t)*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9 >> 60)
		}
	}
	all = lm.LogSoftmax(all)
	s := lm.Scores{Tokens: ask.Candidates}
	switch {
	case ask.All:
		return lm.Scores{LogProbs: all}
	case ask.Top > 0:
		s.Tokens = lm.Best(all, ask.Top)
	}
	for _, t := range s.Tokens {
		s.LogProbs = append(s.LogProbs, all[t])
	}
	if ask.Top == 0 {
		s.LogProbs = lm.LogSoftmax(s.LogProbs)
	}
	return s
}
