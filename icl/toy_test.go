package icl

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"

	"sotto/lm"
)

// toy is a model of bytes and some words, whose logits are a hash of all tokens before.
// It counts what is open, and can be made to fail.
type toy struct {
	words   []string // tokens 256, 257, …
	info    lm.Info
	open    int // sequences of all sessions
	steps   int
	failAt  int // fail the step with this number, counted from 1
	prompts []lm.Prompt
	longest int // sequences of one step
	tokens  int // of all steps
	begins  bool
	answer  string
}

func newToy(words ...string) *toy {
	t := &toy{words: words, answer: " a word\nand more"}
	t.info = lm.Info{Backend: "toy", Capacity: lm.Capacity{Context: 4096, Vocabulary: 256 + len(words)}}
	t.info.Can = lm.Capabilities{Generate: true, Candidates: true, Top: true, All: true}
	return t
}

func (t *toy) Info() lm.Info           { return t.info }
func (t *toy) Usage() lm.Usage         { return lm.Usage{} }
func (t *toy) Close() error            { return nil }
func (t *toy) Tokenizer() lm.Tokenizer { return t }

func (t *toy) Generate(_ context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	t.prompts = append(t.prompts, prompts...)
	texts := make([]lm.Text, len(prompts))
	for i := range texts {
		texts[i].Text = t.answer[:min(len(t.answer), o.MaxTokens)]
	}
	return texts, nil
}

func (t *toy) Chat(context.Context, []lm.Message) ([]lm.Token, error) {
	return nil, errors.New("the toy does not chat")
}

func (t *toy) Encode(_ context.Context, s string) ([]lm.Token, error) {
	var tokens []lm.Token
next:
	for s != "" {
		for i, w := range t.words {
			if strings.HasPrefix(s, w) {
				tokens = append(tokens, lm.Token(256+i))
				s = s[len(w):]
				continue next
			}
		}
		tokens = append(tokens, lm.Token(s[0]))
		s = s[1:]
	}
	return tokens, nil
}

func (t *toy) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var b strings.Builder
	for _, k := range tokens {
		if k < 256 {
			b.WriteByte(byte(k))
		} else {
			b.WriteString(t.words[k-256])
		}
	}
	return b.String(), nil
}

func (t *toy) Size() int                   { return t.info.Vocabulary }
func (t *toy) Beginning() (lm.Token, bool) { return 1, t.begins }
func (t *toy) Control(lm.Token) bool       { return false }
func (t *toy) Ends() []lm.Token            { return nil }

// logits after some tokens: whole numbers of eighths, from -4 to 4.
func (t *toy) logits(tokens []lm.Token) []float64 {
	h := fnv.New64a()
	for _, k := range tokens {
		h.Write([]byte{byte(k), byte(k >> 8)})
	}
	x := h.Sum64()
	out := make([]float64, t.info.Vocabulary)
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = float64(x>>58)/8 - 4
	}
	return out
}

func (t *toy) Open(context.Context) (lm.Session, error) {
	return &toySession{toy: t, sequences: map[lm.Sequence][]lm.Token{}}, nil
}

type toySession struct {
	toy       *toy
	sequences map[lm.Sequence][]lm.Token
	last      lm.Sequence
}

func (s *toySession) add(tokens []lm.Token) (lm.Sequence, error) {
	s.last++
	s.toy.open++
	s.sequences[s.last] = append([]lm.Token{}, tokens...)
	return s.last, nil
}

func (s *toySession) New() (lm.Sequence, error) { return s.add(nil) }

func (s *toySession) Fork(q lm.Sequence) (lm.Sequence, error) {
	tokens, ok := s.sequences[q]
	if !ok {
		return 0, lm.ErrUnknownSequence
	}
	return s.add(tokens)
}

func (s *toySession) Drop(q lm.Sequence) error {
	if _, ok := s.sequences[q]; !ok {
		return lm.ErrUnknownSequence
	}
	s.toy.open--
	delete(s.sequences, q)
	return nil
}

func (s *toySession) Len(q lm.Sequence) (int, error) { return len(s.sequences[q]), nil }

var errToy = errors.New("the toy failed")

func (s *toySession) Step(_ context.Context, steps []lm.Step) ([]lm.Scores, error) {
	t := s.toy
	if t.steps++; t.steps == t.failAt {
		return nil, errToy
	}
	t.longest = max(t.longest, len(steps))
	err := lm.CheckSteps(t.info, steps, func(q lm.Sequence) (int, bool) {
		tokens, ok := s.sequences[q]
		return len(tokens), ok
	})
	if err != nil {
		return nil, err
	}
	scores := make([]lm.Scores, len(steps))
	for i, step := range steps {
		t.tokens += len(step.Tokens)
		s.sequences[step.Sequence] = append(s.sequences[step.Sequence], step.Tokens...)
		logits := t.logits(s.sequences[step.Sequence])
		switch {
		case step.Ask.All:
			scores[i].LogProbs = lm.LogSoftmax(logits)
		case step.Ask.Candidates != nil:
			some := make([]float64, len(step.Ask.Candidates))
			for j, c := range step.Ask.Candidates {
				some[j] = logits[c]
			}
			scores[i] = lm.Scores{Tokens: step.Ask.Candidates, LogProbs: lm.LogSoftmax(some)}
		}
	}
	return scores, nil
}

func (s *toySession) Usage() lm.Usage { return lm.Usage{} }

func (s *toySession) Close() error {
	s.toy.open -= len(s.sequences)
	s.sequences = nil
	return nil
}
