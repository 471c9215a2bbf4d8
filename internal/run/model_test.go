package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sotto-dp/sotto/lm"
)

// hashModel is a deterministic model whose tokens are the small letters, marks that other
// characters fall on, and one that ends a text. Its scores are a hash of the sequence, so
// that every token of every prompt matters.
type hashModel struct {
	info lm.Info
	// fail is called before each step, and its error is the step's.
	fail func(step int) error
	// jitter moves scores from run to run: the model does not repeat itself. salt is what
	// they are moved by.
	jitter bool
	salt   uint64
	// leaks, if set, counts what is asked, and a score depends on what was before it.
	leaks *atomic.Int64
	// perToken is the memory in bytes that it says a token of a sequence takes.
	perToken int64
	// around is how many tokens its chat template has of its own.
	around int
	// ends makes every text likely to end at any time.
	ends bool

	steps int
	usage lm.Usage
}

const (
	endToken   = 32
	vocabulary = 33
)

func newHashModel() *hashModel {
	m := &hashModel{info: lm.Info{
		Name: "hash", Backend: "test", Fingerprint: "sha256:0123", Deterministic: true, BatchInvariant: true,
		Capacity: lm.Capacity{Context: 4096, Vocabulary: vocabulary},
		Can:      lm.Capabilities{Candidates: true, Top: true, All: true, SharedPrefix: true},
	}}
	return m
}

// restless is the model of a server that does not repeat itself.
func restless() *hashModel {
	m := newHashModel()
	m.jitter = true
	m.info.Deterministic, m.info.BatchInvariant, m.info.Tolerance = false, false, 1
	return m
}

// Solo implements [lm.SoloScorer]: what one run gets is the same throughout, and the
// next gets something else.
func (m *hashModel) Solo(ctx context.Context) (lm.Scorer, lm.Isolation, error) {
	if m.jitter {
		m.salt = rand.Uint64()
	}
	tried := &trial{hashModel: m, left: math.MaxInt64}
	_, err := lm.Compare(ctx, tried)
	return &trial{hashModel: m, left: math.MaxInt64 - tried.left}, lm.Exclusive, err
}

// trial does not fail in its first sessions, in which it is tried out.
type trial struct {
	*hashModel
	mu   sync.Mutex
	left int64
}

func (t *trial) Open(ctx context.Context) (lm.Session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.left--; t.left < 0 {
		return t.hashModel.Open(ctx)
	}
	copied := *t.hashModel
	copied.fail = nil
	return copied.Open(ctx)
}

func (m *hashModel) trusted() lm.TrustedScorer {
	t, err := lm.Trust(m, lm.InProcess)
	if err != nil {
		panic(err)
	}
	return t
}

// Predict implements [lm.Predictor].
func (m *hashModel) Predict(l lm.Load) lm.Memory {
	return lm.Memory{Pages: m.perToken * int64(l.Shared+l.Sequences*l.Tokens)}
}

func (m *hashModel) Info() lm.Info           { return m.info }
func (m *hashModel) Usage() lm.Usage         { return m.usage }
func (m *hashModel) Close() error            { return nil }
func (m *hashModel) Tokenizer() lm.Tokenizer { return byteTokens{} }

func (m *hashModel) Generate(context.Context, []lm.Prompt, lm.GenerateOptions) ([]lm.Text, error) {
	return nil, errors.New("not for tests")
}

func (m *hashModel) Chat(ctx context.Context, messages []lm.Message) ([]lm.Token, error) {
	if !m.info.Can.Chat {
		return nil, errors.New("not for tests")
	}
	text := strings.Repeat("x", m.around)
	for _, turn := range messages {
		text += "(" + string(turn.Role) + ")" + turn.Content
	}
	return byteTokens{}.Encode(ctx, text+"(assistant)")
}

// chatting returns a model with a chat template.
func chatting() *hashModel {
	m := newHashModel()
	m.info.Can.Chat = true
	return m
}

func (m *hashModel) Open(context.Context) (lm.Session, error) {
	return &hashSession{model: m, sequences: map[lm.Sequence]sequenceHash{}}, nil
}

type byteTokens struct{}

func (byteTokens) Encode(_ context.Context, text string) ([]lm.Token, error) {
	out := make([]lm.Token, len(text))
	for i := range len(text) {
		out[i] = lm.Token(text[i] & 31) // a is 1, as in ASCII
	}
	return out, nil
}

func (byteTokens) Decode(_ context.Context, tokens []lm.Token) (string, error) {
	var b strings.Builder
	for _, t := range tokens {
		if t < endToken {
			b.WriteByte(byte(t) | 0x60)
		}
	}
	return b.String(), nil
}

func (byteTokens) Size() int                   { return vocabulary }
func (byteTokens) Beginning() (lm.Token, bool) { return 0, false }
func (byteTokens) Control(t lm.Token) bool     { return t == endToken }
func (byteTokens) Ends() []lm.Token            { return []lm.Token{endToken} }

// sequenceHash is a sequence: how long it is and what its tokens hash to.
type sequenceHash struct {
	length int
	sum    uint64
}

type hashSession struct {
	model     *hashModel
	next      lm.Sequence
	sequences map[lm.Sequence]sequenceHash
	usage     lm.Usage
}

func (s *hashSession) add(h sequenceHash) lm.Sequence {
	s.next++
	s.sequences[s.next] = h
	return s.next
}

func (s *hashSession) New() (lm.Sequence, error) {
	return s.add(sequenceHash{sum: 14695981039346656037}), nil
}

func (s *hashSession) Fork(q lm.Sequence) (lm.Sequence, error) {
	h, ok := s.sequences[q]
	if !ok {
		return 0, lm.ErrUnknownSequence
	}
	return s.add(h), nil
}

func (s *hashSession) Drop(q lm.Sequence) error {
	delete(s.sequences, q)
	return nil
}

func (s *hashSession) Len(q lm.Sequence) (int, error) { return s.sequences[q].length, nil }
func (s *hashSession) Usage() lm.Usage                { return s.usage }
func (s *hashSession) Close() error                   { return nil }

func (s *hashSession) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.model.steps++
	if s.model.fail != nil {
		if err := s.model.fail(s.model.steps); err != nil {
			return nil, err
		}
	}
	err := lm.CheckSteps(s.model.info, steps, func(q lm.Sequence) (int, bool) {
		h, ok := s.sequences[q]
		return h.length, ok
	})
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
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

func (s *hashSession) answer(h sequenceHash, a lm.Ask) lm.Scores {
	random := rand.New(rand.NewPCG(h.sum^s.model.salt, 1))
	logits := make([]float64, vocabulary)
	for t := range logits {
		// Small letters are likely, the end less so, all else not at all.
		logits[t] = 3*random.Float64() - 30
		switch {
		case t >= 1 && t <= 26:
			logits[t] += 30
		case t == endToken:
			logits[t] += 29
		}
		if s.model.leaks != nil {
			logits[t] += 1e-9 * float64(s.model.leaks.Add(1))
		}
		if s.model.ends && t == endToken {
			logits[t] += 5
		}
	}
	all := lm.LogSoftmax(logits)
	switch {
	case a.All:
		return lm.Scores{LogProbs: all}
	case a.Top > 0:
		best := lm.Best(all, a.Top)
		return lm.Scores{Tokens: best, LogProbs: pick(all, best)}
	case len(a.Candidates) > 0:
		return lm.Scores{Tokens: a.Candidates, LogProbs: lm.LogSoftmax(pick(all, a.Candidates))}
	}
	return lm.Scores{}
}

func pick(all []float64, tokens []lm.Token) []float64 {
	out := make([]float64, len(tokens))
	for i, t := range tokens {
		out[i] = all[t]
	}
	return out
}
