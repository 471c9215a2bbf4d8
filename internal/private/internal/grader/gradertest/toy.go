// Package gradertest has a model for tests on grades: its tokens are bytes or those of a
// vocabulary, and what comes next is whatever the test says.
package gradertest

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// End is the token that texts begin and end with; all others are bytes.
const End lm.Token = 256

// Toy is a model. It is for one goroutine at a time.
type Toy struct {
	// Logits of what follows a text: [Hash] unless set.
	Logits func(text string) []float64
	// Vocabulary, if set, is in place of bytes. Then only the best token can be asked for,
	// which is what Writes says of the tokens before it, and chosen ones, which have the scores that
	// Score says, if it is set.
	Vocabulary lm.Tokenizer
	Writes     func(tokens []lm.Token) lm.Token
	Score      func(tokens []lm.Token, next lm.Token) float64
	// Template, if set, lays turns out.
	Template func(context.Context, []lm.Message) ([]lm.Token, error)
	// Distort, if set, changes log-probabilities before they are handed out.
	Distort func(logs []float64)
	// Fail, if set, is asked before each call of the model, by its name.
	Fail func(call string) error
	// Context is the longest sequence, 4096 unless set, and Sequences the most of a step.
	Context, Sequences int
	// Can is what it offers beside scores of candidates, all kinds of scores unless set.
	Can lm.Capabilities
	// Opened counts sequences and sessions that are open, Longest the tokens of the
	// longest sequence so far, and Widest the sequences of the widest step.
	Opened, Longest, Widest int
}

// Hash gives any two texts other scores, large for a few letters and the end of a line.
func Hash(text string) []float64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	x := h.Sum64()
	out := make([]float64, End+1)
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = float64(x>>40)/(1<<24)*6 - 3
		if (i < 'a' || i > 'c') && i != ' ' && i != '\n' {
			out[i] -= 8
		}
	}
	return out
}

// Info describes the toy.
func (m *Toy) Info() lm.Info {
	can := m.Can
	if can == (lm.Capabilities{}) {
		can.Given, can.All, can.Top = m.Vocabulary == nil, m.Vocabulary == nil, true
	}
	can.Candidates, can.Chat = true, m.Template != nil
	info := lm.Info{Name: "toy", Backend: "test", Deterministic: true, BatchInvariant: true, Can: can}
	info.Context, info.Vocabulary, info.Sequences = m.Context, int(End)+1, m.Sequences
	if info.Context == 0 {
		info.Context = 4096
	}
	if m.Vocabulary != nil {
		info.Vocabulary = m.Vocabulary.Size()
	}
	return info
}

func (m *Toy) try(call string) error {
	if m.Fail == nil {
		return nil
	}
	return m.Fail(call)
}

// Generate writes by itself, if it is said to.
func (m *Toy) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	if !m.Can.Generate {
		return nil, errors.New("the toy does not write by itself")
	}
	return lm.GenerateBySteps(ctx, m, prompts, o)
}

// Chat lays turns out in the template, if there is one.
func (m *Toy) Chat(ctx context.Context, messages []lm.Message) ([]lm.Token, error) {
	if m.Template == nil {
		return nil, errors.New("the toy does not chat")
	}
	return m.Template(ctx, messages)
}

// Usage counts nothing.
func (m *Toy) Usage() lm.Usage { return lm.Usage{} }

// Close does nothing.
func (m *Toy) Close() error { return nil }

// Tokenizer is the toy itself, unless it has a vocabulary.
func (m *Toy) Tokenizer() lm.Tokenizer {
	if m.Vocabulary != nil {
		return m.Vocabulary
	}
	return m
}

// Encode makes a token of each byte.
func (m *Toy) Encode(_ context.Context, text string) ([]lm.Token, error) {
	out := make([]lm.Token, 0, len(text))
	for _, b := range []byte(text) {
		out = append(out, lm.Token(b))
	}
	return out, m.try("encode")
}

// Decode makes a byte of each token.
func (m *Toy) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	return spell(tokens), m.try("decode")
}

func spell(tokens []lm.Token) string {
	out := make([]byte, 0, len(tokens))
	for _, t := range tokens {
		if t < End {
			out = append(out, byte(t))
		}
	}
	return string(out)
}

// Size of the vocabulary.
func (m *Toy) Size() int { return int(End) + 1 }

// Beginning of all texts.
func (m *Toy) Beginning() (lm.Token, bool) { return End, true }

// Control is true of the end alone.
func (m *Toy) Control(t lm.Token) bool { return t == End }

// Ends of texts.
func (m *Toy) Ends() []lm.Token { return []lm.Token{End} }

// Open starts a session.
func (m *Toy) Open(context.Context) (lm.Session, error) {
	if err := m.try("open"); err != nil {
		return nil, err
	}
	m.Opened++
	return &session{Toy: m, sequences: map[lm.Sequence][]lm.Token{}}, nil
}

type session struct {
	*Toy
	last      lm.Sequence
	sequences map[lm.Sequence][]lm.Token
	computed  int64
}

func (s *session) add(tokens []lm.Token) lm.Sequence {
	s.last++
	s.sequences[s.last] = slices.Clone(tokens)
	s.Opened++
	return s.last
}

func (s *session) New() (lm.Sequence, error) {
	if err := s.try("new"); err != nil {
		return 0, err
	}
	return s.add(nil), nil
}

func (s *session) Fork(from lm.Sequence) (lm.Sequence, error) {
	if err := s.try("fork"); err != nil {
		return 0, err
	}
	tokens, ok := s.sequences[from]
	if !ok {
		return 0, lm.ErrUnknownSequence
	}
	return s.add(tokens), nil
}

func (s *session) Drop(q lm.Sequence) error {
	if _, ok := s.sequences[q]; !ok {
		return lm.ErrUnknownSequence
	}
	delete(s.sequences, q)
	s.Opened--
	return s.try("drop")
}

func (s *session) Len(q lm.Sequence) (int, error) { return len(s.sequences[q]), nil }

func (s *session) Usage() lm.Usage { return lm.Usage{Computed: s.computed} }

func (s *session) Close() error {
	s.Opened -= 1 + len(s.sequences)
	return s.try("close")
}

func (s *session) Step(_ context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := s.try("step"); err != nil {
		return nil, err
	}
	if err := lm.CheckSteps(s.Info(), steps, func(q lm.Sequence) (int, bool) {
		tokens, ok := s.sequences[q]
		return len(tokens), ok
	}); err != nil {
		return nil, err
	}
	s.Widest = max(s.Widest, len(steps))
	out := make([]lm.Scores, len(steps))
	for i, step := range steps {
		tokens := slices.Concat(s.sequences[step.Sequence], step.Tokens)
		s.sequences[step.Sequence] = tokens
		s.computed += int64(len(step.Tokens))
		s.Longest = max(s.Longest, len(tokens))
		out[i] = s.answer(step.Ask, tokens)
		if s.Distort != nil && len(out[i].LogProbs) > 0 {
			s.Distort(out[i].LogProbs)
		}
	}
	return out, nil
}

// logs are log-probabilities of what follows tokens.
func (s *session) logs(tokens []lm.Token) []float64 {
	if s.Logits == nil {
		return lm.LogSoftmax(Hash(spell(tokens)))
	}
	return lm.LogSoftmax(s.Logits(spell(tokens)))
}

func (s *session) answer(ask lm.Ask, tokens []lm.Token) (out lm.Scores) {
	switch {
	case s.Vocabulary != nil:
		if ask.Top > 0 {
			out = lm.Scores{Tokens: []lm.Token{s.Writes(tokens)}, LogProbs: []float64{0}}
		} else if len(ask.Candidates) > 0 {
			out.Tokens = ask.Candidates
			for _, t := range ask.Candidates {
				out.LogProbs = append(out.LogProbs, s.Score(tokens, t))
			}
			out.LogProbs = lm.LogSoftmax(out.LogProbs)
		}
	case ask.All:
		out.LogProbs = s.logs(tokens)
	case ask.Given > 0:
		for at := len(tokens) - ask.Given; at < len(tokens); at++ {
			all := s.logs(tokens[:at])
			out.Tokens = append(out.Tokens, tokens[at])
			out.LogProbs = append(out.LogProbs, all[tokens[at]])
			out.Best = append(out.Best, lm.Best(all, 1)[0])
		}
	case ask.Top > 0:
		all := s.logs(tokens)
		out.Tokens = lm.Best(all, ask.Top)
		for _, t := range out.Tokens {
			out.LogProbs = append(out.LogProbs, all[t])
		}
	case len(ask.Candidates) > 0:
		all := s.logs(tokens)
		var chosen []float64
		for _, t := range ask.Candidates {
			chosen = append(chosen, all[t])
		}
		out = lm.Scores{Tokens: ask.Candidates, LogProbs: lm.LogSoftmax(chosen)}
	}
	return out
}
