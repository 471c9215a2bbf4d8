package torch

import (
	"context"
	"errors"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// session of a model. It satisfies [lm.Session].
type session struct {
	model     *Model
	worker    *worker
	sequences map[lm.Sequence]*sequence
	last      lm.Sequence
	usage     lm.Usage
	closed    bool
}

func (s *session) add(q *sequence) lm.Sequence {
	s.last++
	s.sequences[s.last] = q
	return s.last
}

func (s *session) find(id lm.Sequence) (*sequence, error) {
	if s.closed {
		return nil, lm.ErrClosed
	}
	q, ok := s.sequences[id]
	if !ok {
		return nil, lm.ErrUnknownSequence
	}
	return q, nil
}

func (s *session) New() (lm.Sequence, error) {
	if s.closed {
		return 0, lm.ErrClosed
	}
	return s.add(&sequence{state: -1}), nil
}

func (s *session) Fork(id lm.Sequence) (lm.Sequence, error) {
	q, err := s.find(id)
	if err != nil {
		return 0, err
	}
	s.count(lm.Usage{Cached: int64(q.length)})
	return s.add(s.worker.books.fork(q)), nil
}

func (s *session) Drop(id lm.Sequence) error {
	q, err := s.find(id)
	if err != nil {
		return err
	}
	s.worker.books.drop(q)
	delete(s.sequences, id)
	return nil
}

func (s *session) Len(id lm.Sequence) (int, error) {
	q, err := s.find(id)
	if err != nil {
		return 0, err
	}
	return q.length, nil
}

func (s *session) Usage() lm.Usage { return s.usage }

func (s *session) count(u lm.Usage) {
	s.usage = s.usage.Plus(u)
	s.model.computed.Add(u.Computed)
	s.model.cached.Add(u.Cached)
	s.model.rows.Add(u.Rows)
}

func (s *session) Close() error {
	if s.closed {
		return nil
	}
	for _, q := range s.sequences {
		s.worker.books.drop(q)
	}
	s.worker.room.leave()
	s.closed, s.sequences = true, nil
	return nil
}

func (s *session) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if s.closed {
		return nil, lm.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := lm.CheckSteps(s.model.info, listedOnce(steps), func(id lm.Sequence) (int, bool) {
		q, ok := s.sequences[id]
		if !ok {
			return 0, false
		}
		return q.length, true
	}); err != nil {
		return nil, err
	}
	if len(steps) == 0 {
		return nil, nil
	}
	r := &request{steps: steps, stop: ctx.Err}
	answers, err := s.run(ctx, r)
	if err != nil {
		for _, g := range r.grown {
			s.worker.books.undo(g)
		}
		return nil, err
	}
	var cost lm.Usage
	for i, g := range r.grown {
		s.worker.books.commit(g)
		cost.Computed += int64(len(g.tokens))
		if ask := steps[i].Ask; !ask.IsZero() {
			// At most: the worker may compute candidates alone.
			cost.Rows += int64(max(1, ask.Given) * s.model.info.Vocabulary)
		}
	}
	s.count(cost)
	return answers, nil
}

// listedOnce cuts lists of candidates that an earlier step has to their first, so that
// a list which thousands of sequences share is checked once.
func listedOnce(steps []lm.Step) []lm.Step {
	seen := map[listKey]struct{}{}
	short := slices.Clone(steps)
	for i, s := range short {
		if len(s.Ask.Candidates) == 0 {
			continue
		}
		key := listKey{&s.Ask.Candidates[0], len(s.Ask.Candidates)}
		if _, ok := seen[key]; ok {
			short[i].Ask.Candidates = s.Ask.Candidates[:1]
		}
		seen[key] = struct{}{}
	}
	return short
}

// prepare takes what a request needs, and waits for it while other sessions have it.
func (s *session) prepare(ctx context.Context, r *request) (err error) {
	list := make([]extension, len(r.steps))
	for i, step := range r.steps {
		list[i] = extension{s.sequences[step.Sequence], step.Tokens}
	}
	for {
		freed := s.worker.room.watch()
		if r.grown, err = s.worker.books.grow(list); !errors.Is(err, ErrFull) {
			return err
		}
		if waiting := s.worker.room.wait(ctx, freed); errors.Is(waiting, ErrFull) {
			return err
		} else if waiting != nil {
			return waiting
		}
	}
}

// run prepares a request, sends it and reads its answers. The sequences stay as they are.
func (s *session) run(ctx context.Context, r *request) ([]lm.Scores, error) {
	if err := s.prepare(ctx, r); err != nil {
		return nil, err
	}
	if err := s.worker.do(r); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answers := make([]lm.Scores, len(r.steps))
	for i, step := range r.steps {
		var err error
		if answers[i], err = scores(step, r.raw[i]); err != nil {
			return nil, err
		}
	}
	return answers, nil
}
