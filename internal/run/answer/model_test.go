package answer

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/lm"
)

// toy is a model whose tokens are bytes, and whose scores are a hash of the sequence: any
// other byte in a prompt gives other scores. It may be used by several goroutines.
type toy struct {
	info lm.Info
	// fail is called before each step, and its error is the step's.
	fail func() error
	// alphabet are the bytes that it likes; ends makes answers likely to end early.
	alphabet string
	ends     float64
	// leaks: a score depends on what was asked before it.
	leaks bool
	// perToken is the memory that it predicts for each.
	perToken int64

	asked atomic.Int64
	mu    sync.Mutex
	usage lm.Usage
}

const endToken = 256

func newToy() *toy {
	return &toy{alphabet: "abcdefgh ", info: lm.Info{
		Name: "toy", Backend: "test", Fingerprint: "sha256:0123", Deterministic: true, BatchInvariant: true,
		Capacity: lm.Capacity{Context: 4096, Vocabulary: endToken + 1},
		Can:      lm.Capabilities{Candidates: true, Top: true, All: true, SharedPrefix: true},
	}}
}

// Solo implements [lm.SoloScorer].
func (m *toy) Solo(context.Context) (lm.Scorer, lm.Isolation, error) { return m, lm.Exclusive, nil }

func (m *toy) trusted() lm.TrustedScorer {
	t, err := lm.Trust(m, lm.InProcess)
	if err != nil {
		panic(err)
	}
	return t
}

// Predict implements [lm.Predictor].
func (m *toy) Predict(l lm.Load) lm.Memory {
	return lm.Memory{Pages: m.perToken * int64(l.Shared+l.Sequences*l.Tokens)}
}

func (m *toy) Info() lm.Info           { return m.info }
func (m *toy) Close() error            { return nil }
func (m *toy) Tokenizer() lm.Tokenizer { return letters{} }

func (m *toy) Usage() lm.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage
}

func (m *toy) Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error) {
	return nil, errors.New("not for tests")
}

func (m *toy) Chat(context.Context, []lm.Message) ([]lm.Token, error) {
	return nil, errors.New("not for tests")
}

func (m *toy) Open(context.Context) (lm.Session, error) {
	return &toySession{model: m, sequences: map[lm.Sequence]sequenceHash{}}, nil
}

type letters struct{}

func (letters) Encode(_ context.Context, text string) ([]lm.Token, error) {
	out := make([]lm.Token, len(text))
	for i := range len(text) {
		out[i] = lm.Token(text[i])
	}
	return out, nil
}

func (letters) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var b strings.Builder
	for _, t := range tokens {
		if t < endToken {
			b.WriteByte(byte(t))
		}
	}
	return b.String(), nil
}

func (letters) Size() int                   { return endToken + 1 }
func (letters) Beginning() (lm.Token, bool) { return 0, false }
func (letters) Control(t lm.Token) bool     { return t == endToken }
func (letters) Ends() []lm.Token            { return []lm.Token{endToken} }

// sequenceHash is a sequence: how long it is and what its tokens hash to.
type sequenceHash struct {
	length int
	sum    uint64
}

type toySession struct {
	model     *toy
	next      lm.Sequence
	sequences map[lm.Sequence]sequenceHash
	usage     lm.Usage
}

func (s *toySession) New() (lm.Sequence, error) {
	s.next++
	s.sequences[s.next] = sequenceHash{sum: 14695981039346656037}
	return s.next, nil
}

func (s *toySession) Fork(q lm.Sequence) (lm.Sequence, error) {
	s.next++
	s.sequences[s.next] = s.sequences[q]
	return s.next, nil
}

func (s *toySession) Drop(q lm.Sequence) error {
	delete(s.sequences, q)
	return nil
}

func (s *toySession) Len(q lm.Sequence) (int, error) { return s.sequences[q].length, nil }
func (s *toySession) Usage() lm.Usage                { return s.usage }
func (s *toySession) Close() error                   { return nil }

func (s *toySession) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.model.fail != nil {
		if err := s.model.fail(); err != nil {
			return nil, err
		}
	}
	out := make([]lm.Scores, len(steps))
	for i, step := range steps {
		h := s.sequences[step.Sequence]
		for _, t := range step.Tokens {
			h.sum = (h.sum ^ uint64(t)) * 1099511628211
			h.length++
			s.usage.Computed++
		}
		s.sequences[step.Sequence] = h
		out[i] = s.answer(h, step.Ask)
	}
	return out, nil
}

func (s *toySession) answer(h sequenceHash, a lm.Ask) lm.Scores {
	if a.IsZero() {
		return lm.Scores{}
	}
	random := rand.New(rand.NewPCG(h.sum, 1))
	logits := make([]float64, endToken+1)
	for t := range logits {
		logits[t] = -30
	}
	for i := range len(s.model.alphabet) {
		logits[s.model.alphabet[i]] = 3 * random.Float64()
		if s.model.leaks {
			logits[s.model.alphabet[i]] += 1e-9 * float64(s.model.asked.Add(1))
		}
	}
	logits[endToken] = s.model.ends - 1
	all := lm.LogSoftmax(logits)
	tokens := a.Candidates
	switch {
	case a.All:
		return lm.Scores{LogProbs: all}
	case a.Top > 0:
		tokens = lm.Best(all, a.Top)
	}
	scores := lm.Scores{Tokens: tokens}
	for _, t := range tokens {
		scores.LogProbs = append(scores.LogProbs, all[t])
	}
	if a.Top == 0 {
		scores.LogProbs = lm.LogSoftmax(scores.LogProbs)
	}
	return scores
}
