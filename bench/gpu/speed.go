package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sotto-dp/sotto/bench/gpu/torch"
	"github.com/sotto-dp/sotto/lm"
)

// load is what sessions do at the same time: in each round, every sequence gets tokens
// and then is asked for candidates, as the decoding loop does.
type load struct {
	name                string
	sessions, sequences int
	shared, own         int // tokens of a session's prefix, and of each sequence on top
	rounds, each        int // rounds, and new tokens of a sequence in each
	fresh               bool
	candidates          int
}

// The loads of the methods: one token for each of many long sequences; fresh prompts at
// every token; questions after demonstrations.
var loads = []load{
	{name: "clipped", sessions: 4, sequences: 2500, shared: 30, own: 200, rounds: 20, each: 1, candidates: 100},
	{name: "gaussian", sessions: 48, sequences: 40, shared: 30, own: 170, rounds: 3, fresh: true, candidates: 100},
	{name: "classify", sessions: 48, sequences: 64, shared: 400, own: 80, rounds: 5, fresh: true, candidates: 4},
}

func speed(ctx context.Context, s settings) error {
	began := time.Now()
	model, err := torch.Open(s.model, s.options)
	if err != nil {
		return err
	}
	defer model.Close()
	fmt.Printf("%s, ready after %.1f s\n", model.Info().Version, time.Since(began).Seconds())
	warm := loads[1]
	warm.sessions, warm.sequences, warm.rounds = 2, 4, 1
	if _, _, err := warm.run(ctx, model); err != nil {
		return err
	}
	for _, l := range loads {
		l.sequences = max(1, int(float64(l.sequences)*s.scale))
		tokens, took, err := l.run(ctx, model)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		fmt.Printf("%-9s %9d tokens in %6.2f s: %9.0f a second\n", l.name, tokens, took.Seconds(), float64(tokens)/took.Seconds())
	}
	return nil
}

// run measures the rounds of a load, which begin together.
func (l load) run(ctx context.Context, m *torch.Model) (int64, time.Duration, error) {
	sessions := make([]*speaker, l.sessions)
	var preparing, running errgroup.Group
	for i := range sessions {
		preparing.Go(func() (err error) {
			sessions[i], err = l.prepare(ctx, m, i)
			return err
		})
	}
	if err := preparing.Wait(); err != nil {
		return 0, 0, err
	}
	before, began := m.Usage().Computed, time.Now()
	for _, s := range sessions {
		running.Go(func() error {
			for range l.rounds {
				if err := l.round(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := running.Wait()
	took := time.Since(began)
	for _, s := range sessions {
		s.session.Close()
	}
	return m.Usage().Computed - before, took, err
}

// speaker is a session and its sequences.
type speaker struct {
	session    lm.Session
	prefix     lm.Sequence
	list       []lm.Sequence
	vocabulary int
	next       uint32
}

// tokens makes up n tokens.
func (s *speaker) tokens(n int) []lm.Token {
	list := make([]lm.Token, n)
	for i := range list {
		s.next = s.next*1664525 + 1013904223
		list[i] = lm.Token(int(s.next>>8) % s.vocabulary)
	}
	return list
}

func (l load) prepare(ctx context.Context, m lm.Scorer, seed int) (*speaker, error) {
	session, err := m.Open(ctx)
	if err != nil {
		return nil, err
	}
	s := &speaker{session: session, vocabulary: m.Info().Vocabulary, next: uint32(seed)}
	if s.prefix, err = session.New(); err != nil {
		return s, err
	}
	if _, err := session.Step(ctx, []lm.Step{{Sequence: s.prefix, Tokens: s.tokens(l.shared)}}); err != nil || l.fresh {
		return s, err
	}
	var steps []lm.Step
	for range l.sequences {
		q, err := session.Fork(s.prefix)
		if err != nil {
			return s, err
		}
		s.list = append(s.list, q)
		steps = append(steps, lm.Step{Sequence: q, Tokens: s.tokens(l.own)})
	}
	_, err = session.Step(ctx, steps)
	return s, err
}

func (l load) round(ctx context.Context, s *speaker) error {
	list, each := s.list, l.each
	if l.fresh {
		list, each = nil, l.own
		for range l.sequences {
			q, err := s.session.Fork(s.prefix)
			if err != nil {
				return err
			}
			list = append(list, q)
		}
	}
	candidates := make([]lm.Token, l.candidates)
	for i := range candidates {
		candidates[i] = lm.Token(i * 7)
	}
	var steps, asks []lm.Step
	for _, q := range list {
		steps = append(steps, lm.Step{Sequence: q, Tokens: s.tokens(each)})
		asks = append(asks, lm.Step{Sequence: q, Ask: lm.Ask{Candidates: candidates}})
	}
	if _, err := s.session.Step(ctx, steps); err != nil {
		return err
	}
	if _, err := s.session.Step(ctx, asks); err != nil {
		return err
	}
	if !l.fresh {
		return nil
	}
	for _, q := range list {
		if err := s.session.Drop(q); err != nil {
			return err
		}
	}
	return nil
}
