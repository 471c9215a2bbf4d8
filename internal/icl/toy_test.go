package icl

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// toy is a model of bytes and some words, whose logits are a hash of all tokens before.
// It counts what is open, and can be made to fail.
type toy struct {
	words    []string // tokens 256, 257, …
	info     lm.Info
	open     int // sequences of all sessions
	sessions int // that are not closed
	calls    int // that may fail
	failAt   int // fail the call with this number, counted from 1
	prompts  []lm.Prompt
	steps    int
	asks     int // sequences of all steps
	longest  int // sequences of one step
	widest   int // tokens of one step
	tokens   int // of all steps
	begins   bool
	ends     []lm.Token
	usage    lm.Usage
	// answer is what Generate writes; "" writes as the logits say.
	answer string
}

func newToy(words ...string) *toy {
	t := &toy{words: words}
	t.info = lm.Info{Backend: "toy", Capacity: lm.Capacity{Context: 4096, Vocabulary: 256 + len(words)}}
	t.info.Can = lm.Capabilities{Generate: true, Candidates: true, Top: true, All: true, SharedPrefix: true}
	return t
}

var errToy = errors.New("the toy failed")

func (t *toy) fails() error {
	if t.calls++; t.calls == t.failAt {
		return errToy
	}
	return nil
}

func (t *toy) Info() lm.Info           { return t.info }
func (t *toy) Usage() lm.Usage         { return t.usage }
func (t *toy) Close() error            { return nil }
func (t *toy) Tokenizer() lm.Tokenizer { return t }

func (t *toy) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	if err := t.fails(); err != nil {
		return nil, err
	}
	t.prompts = append(t.prompts, prompts...)
	if t.answer == "" {
		return lm.GenerateBySteps(ctx, t, prompts, o)
	}
	texts := make([]lm.Text, len(prompts))
	for i := range texts {
		texts[i].Text = t.answer[:min(len(t.answer), o.MaxTokens)]
	}
	t.usage = t.usage.Plus(lm.Usage{Requests: int64(len(prompts))})
	return texts, nil
}

func (t *toy) Chat(ctx context.Context, messages []lm.Message) ([]lm.Token, error) {
	if !t.info.Can.Chat {
		return nil, errors.New("the toy does not chat")
	}
	var b strings.Builder
	for _, m := range messages {
		b.WriteString("<" + string(m.Role) + ">" + m.Content + "\n")
	}
	return t.Encode(ctx, b.String()+"<assistant>")
}

func (t *toy) Encode(_ context.Context, s string) ([]lm.Token, error) {
	if err := t.fails(); err != nil {
		return nil, err
	}
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
	if err := t.fails(); err != nil {
		return "", err
	}
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
func (t *toy) Ends() []lm.Token            { return t.ends }

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
	if err := t.fails(); err != nil {
		return nil, err
	}
	t.sessions++
	return &toySession{toy: t, sequences: map[lm.Sequence][]lm.Token{}}, nil
}

type toySession struct {
	toy       *toy
	sequences map[lm.Sequence][]lm.Token
	last      lm.Sequence
	usage     lm.Usage
}

func (s *toySession) add(tokens []lm.Token) (lm.Sequence, error) {
	if err := s.toy.fails(); err != nil {
		return 0, err
	}
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
	s.usage.Cached += int64(len(tokens))
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

func (s *toySession) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	t := s.toy
	if err := errors.Join(t.fails(), ctx.Err()); err != nil {
		return nil, err
	}
	t.steps++
	t.asks += len(steps)
	t.longest = max(t.longest, len(steps))
	err := lm.CheckSteps(t.info, steps, func(q lm.Sequence) (int, bool) {
		tokens, ok := s.sequences[q]
		return len(tokens), ok
	})
	if err != nil {
		return nil, err
	}
	scores := make([]lm.Scores, len(steps))
	width := 0
	for i, step := range steps {
		width += len(step.Tokens)
		s.sequences[step.Sequence] = append(s.sequences[step.Sequence], step.Tokens...)
		scores[i] = t.answerTo(step.Ask, t.logits(s.sequences[step.Sequence]))
	}
	t.tokens += width
	t.widest = max(t.widest, width)
	s.usage.Computed += int64(width)
	return scores, nil
}

func (t *toy) answerTo(ask lm.Ask, logits []float64) (a lm.Scores) {
	all := lm.LogSoftmax(logits)
	switch {
	case ask.All:
		a.LogProbs = all
	case ask.Top > 0:
		a.Tokens = lm.Best(all, ask.Top)
		for _, k := range a.Tokens {
			a.LogProbs = append(a.LogProbs, all[k])
		}
	case ask.Candidates != nil:
		some := make([]float64, len(ask.Candidates))
		for j, c := range ask.Candidates {
			some[j] = logits[c]
		}
		a = lm.Scores{Tokens: ask.Candidates, LogProbs: lm.LogSoftmax(some)}
	}
	return a
}

func (s *toySession) Usage() lm.Usage { return s.usage }

func (s *toySession) Close() error {
	s.toy.open -= len(s.sequences)
	s.toy.sessions--
	s.sequences = nil
	return nil
}

// plain is a model that only writes.
type plain struct{ lm.Model }

// scorerModel is a model that gives its scores when asked for them, or says that it cannot.
type scorerModel struct {
	lm.Model
	scorer lm.Scorer
	err    error
	times  int
}

func (a *scorerModel) Scorer(context.Context) (lm.Scorer, error) {
	a.times++
	return a.scorer, a.err
}
