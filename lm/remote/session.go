package remote

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/lm"
)

// session keeps sequences as lists of tokens. Servers keep none: each query
// carries its sequence, and what was computed for it before is found in the
// server's cache, if there is one.
type session struct {
	scorer *scorer

	mu        sync.Mutex
	sequences map[lm.Sequence]*segment // nil for an empty one
	last      lm.Sequence
	usage     lm.Usage
	closed    bool
}

// segment is the end of a sequence; what comes before is shared. It never changes.
type segment struct {
	before *segment
	tokens []lm.Token
	length int // with all before
}

func (s *segment) len() int {
	if s == nil {
		return 0
	}
	return s.length
}

func (s *segment) list() []lm.Token {
	out := make([]lm.Token, s.len())
	for end := len(out); s != nil; s = s.before {
		end -= copy(out[end-len(s.tokens):], s.tokens)
	}
	return out
}

func (s *segment) and(tokens []lm.Token) *segment {
	if len(tokens) == 0 {
		return s
	}
	return &segment{before: s, tokens: slices.Clone(tokens), length: s.len() + len(tokens)}
}

// ready takes the lock, unless the session is closed.
func (s *session) ready() error {
	s.mu.Lock()
	if s.closed || s.scorer.wire.life.Err() != nil {
		s.mu.Unlock()
		return lm.ErrClosed
	}
	return nil
}

func (s *session) New() (lm.Sequence, error) {
	if err := s.ready(); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.add(nil), nil
}

func (s *session) add(g *segment) lm.Sequence {
	s.last++
	s.sequences[s.last] = g
	return s.last
}

// find takes the lock and returns the end of a sequence.
func (s *session) find(q lm.Sequence, to string) (*segment, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	g, ok := s.sequences[q]
	if !ok {
		s.mu.Unlock()
		return nil, fmt.Errorf("cannot %s: %w", to, lm.ErrUnknownSequence)
	}
	return g, nil
}

func (s *session) Fork(q lm.Sequence) (lm.Sequence, error) {
	g, err := s.find(q, "fork")
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.add(g), nil
}

func (s *session) Drop(q lm.Sequence) error {
	if _, err := s.find(q, "drop"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.sequences, q)
	return nil
}

func (s *session) Len(q lm.Sequence) (int, error) {
	g, err := s.find(q, "measure")
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return g.len(), nil
}

func (s *session) Usage() lm.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage
}

func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.sequences = true, nil
	return nil
}

// Step sends one request for all questions where the server takes that. A step
// that asks nothing sends none: its tokens go along with the next query.
func (s *session) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	info := s.scorer.Info()
	length := func(q lm.Sequence) (int, bool) {
		g, ok := s.sequences[q]
		return g.len(), ok
	}
	if err := lm.CheckSteps(info, steps, length); err != nil {
		return nil, err
	}
	if err := s.scorer.wire.over(ctx); err != nil {
		return nil, err
	}
	next := make(map[lm.Sequence]*segment, len(steps))
	var questions []scoreQuery
	for i, step := range steps {
		g := s.sequences[step.Sequence].and(step.Tokens)
		next[step.Sequence] = g
		if step.Ask.IsZero() {
			continue
		}
		q := scoreQuery{step: i, tokens: g.list(), candidates: step.Ask.Candidates, top: step.Ask.Top, size: s.scorer.Client.info.Vocabulary}
		if step.Ask.All {
			q.top, q.all = q.size, info.Vocabulary
		}
		questions = append(questions, q)
	}
	scores, usage, err := s.scorer.answer(ctx, steps, questions)
	s.usage = s.usage.Plus(usage)
	s.scorer.spend(usage)
	if err != nil {
		return nil, err
	}
	maps.Copy(s.sequences, next)
	return scores, nil
}
