package sotto_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// toy is a model for tests: its tokens are bytes, and what it likes next depends on how
// long a sequence is.
type toy struct {
	usage lm.Usage
	// wait is what a step takes at least.
	wait time.Duration
}

func toyModel() lm.TrustedScorer {
	t, err := lm.Trust(&toy{}, lm.InProcess)
	if err != nil {
		panic(err)
	}
	return t
}

func (*toy) Info() lm.Info {
	return lm.Info{
		Name: "toy", Backend: "test", Fingerprint: "sha256:70f", Deterministic: true, BatchInvariant: true,
		Capacity: lm.Capacity{Context: 4096, Vocabulary: 256},
		Can:      lm.Capabilities{Candidates: true, Top: true, All: true, SharedPrefix: true},
	}
}
func (t *toy) Usage() lm.Usage       { return t.usage }
func (*toy) Close() error            { return nil }
func (*toy) Tokenizer() lm.Tokenizer { return letters{} }

func (*toy) Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error) {
	return nil, errors.New("the toy answers for tokens only")
}

func (*toy) Chat(context.Context, []lm.Message) ([]lm.Token, error) {
	return nil, errors.New("the toy answers for tokens only")
}

func (t *toy) Open(context.Context) (lm.Session, error) {
	return &toySession{toy: t, lengths: map[lm.Sequence]int{}}, nil
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
	toy     *toy
	next    lm.Sequence
	lengths map[lm.Sequence]int
	usage   lm.Usage
}

func (s *toySession) New() (lm.Sequence, error) { return s.Fork(0) }

func (s *toySession) Fork(of lm.Sequence) (lm.Sequence, error) {
	s.next++
	s.lengths[s.next] = s.lengths[of]
	return s.next, nil
}

func (s *toySession) Drop(q lm.Sequence) error {
	delete(s.lengths, q)
	return nil
}

func (s *toySession) Len(q lm.Sequence) (int, error) { return s.lengths[q], nil }
func (s *toySession) Usage() lm.Usage                { return s.usage }
func (s *toySession) Close() error                   { return nil }

func (s *toySession) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	time.Sleep(s.toy.wait)
	out := make([]lm.Scores, len(steps))
	for i, step := range steps {
		s.lengths[step.Sequence] += len(step.Tokens)
		s.usage.Computed += int64(len(step.Tokens))
		s.toy.usage.Computed += int64(len(step.Tokens))
		if !step.Ask.IsZero() {
			out[i] = toyScores(s.lengths[step.Sequence], step.Ask)
		}
	}
	return out, nil
}

func toyScores(length int, ask lm.Ask) lm.Scores {
	logits := make([]float64, 256)
	for t := range logits {
		logits[t] = -20
		if t >= 'a' && t <= 'z' {
			logits[t] = float64((t*7 + length) % 5)
		}
	}
	all := lm.LogSoftmax(logits)
	if ask.All {
		return lm.Scores{LogProbs: all}
	}
	tokens := ask.Candidates
	if ask.Top > 0 {
		tokens = lm.Best(all, ask.Top)
	}
	s := lm.Scores{Tokens: tokens}
	for _, t := range tokens {
		s.LogProbs = append(s.LogProbs, all[t])
	}
	if ask.Top == 0 {
		s.LogProbs = lm.LogSoftmax(s.LogProbs)
	}
	return s
}
