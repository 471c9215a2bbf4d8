package lmtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/lm"
)

func (s *suite) testFork(t *testing.T) {
	for i, tokens := range s.tokens {
		want := s.fresh(t, tokens, s.ask())
		for _, cut := range []int{1, len(tokens) / 2, len(tokens) - 1} {
			session := s.open(t)
			root := must(t)(session.New())
			step(t, session, lm.Step{Sequence: root, Tokens: tokens[:cut]})
			fork := must(t)(session.Fork(root))
			got := step(t, session, lm.Step{Sequence: fork, Tokens: tokens[cut:], Ask: s.ask()})[0]
			s.same(t, fmt.Sprintf("text %d forked at %d", i, cut), got, want)
		}
	}
}

func (s *suite) testIndependent(t *testing.T) {
	session := s.open(t)
	root := must(t)(session.New())
	shared := s.tokens[0][:4]
	step(t, session, lm.Step{Sequence: root, Tokens: shared})
	a, b := must(t)(session.Fork(root)), must(t)(session.Fork(root))
	step(t, session, lm.Step{Sequence: a, Tokens: s.tokens[2]}) // must not show in b or root
	gotB := step(t, session, lm.Step{Sequence: b, Tokens: s.tokens[3], Ask: s.ask()})[0]
	gotA := step(t, session, lm.Step{Sequence: a, Tokens: s.tokens[5], Ask: s.ask()})[0]
	gotRoot := step(t, session, lm.Step{Sequence: root, Tokens: s.tokens[4], Ask: s.ask()})[0]
	s.same(t, "fork b", gotB, s.fresh(t, slices.Concat(shared, s.tokens[3]), s.ask()))
	s.same(t, "fork a", gotA, s.fresh(t, slices.Concat(shared, s.tokens[2], s.tokens[5]), s.ask()))
	s.same(t, "their parent", gotRoot, s.fresh(t, slices.Concat(shared, s.tokens[4]), s.ask()))
	for q, want := range map[lm.Sequence]int{
		a: len(shared) + len(s.tokens[2]) + len(s.tokens[5]), b: len(shared) + len(s.tokens[3]), root: len(shared) + len(s.tokens[4]),
	} {
		if n, err := session.Len(q); err != nil || n != want {
			t.Errorf("a sequence has %d tokens, error %v; it should have %d", n, err, want)
		}
	}
}

func (s *suite) testTokenByToken(t *testing.T) {
	for i, tokens := range s.tokens[:3] {
		session := s.open(t)
		q := must(t)(session.New())
		for j, token := range tokens {
			got := step(t, session, lm.Step{Sequence: q, Tokens: []lm.Token{token}, Ask: s.ask()})[0]
			if j == len(tokens)-1 || j == len(tokens)/2 {
				s.same(t, fmt.Sprintf("text %d after %d tokens", i, j+1), got, s.fresh(t, tokens[:j+1], s.ask()))
			}
		}
	}
}

func (s *suite) testOrder(t *testing.T) {
	want := s.freshAll(t)
	n := len(s.tokens)
	for shift := range n {
		session := s.open(t)
		steps := make([]lm.Step, n)
		for i := range steps {
			q := must(t)(session.New())
			steps[i] = lm.Step{Sequence: q, Tokens: s.tokens[(i*5+shift)%n], Ask: s.ask()}
		}
		for i, got := range step(t, session, steps...) {
			s.same(t, fmt.Sprintf("text %d at place %d", (i*5+shift)%n, i), got, want[(i*5+shift)%n])
		}
	}
}

func (s *suite) testLater(t *testing.T) {
	session := s.open(t)
	var steps, later []lm.Step
	for _, tokens := range s.tokens {
		q := must(t)(session.New())
		steps = append(steps, lm.Step{Sequence: q, Tokens: tokens})
		later = append(later, lm.Step{Sequence: q, Ask: s.ask()})
	}
	for i, none := range step(t, session, steps...) {
		if none.Tokens != nil || none.LogProbs != nil {
			t.Errorf("step %d asked nothing and was answered", i)
		}
	}
	for i, got := range step(t, session, later...) {
		s.same(t, fmt.Sprintf("text %d", i), got, s.fresh(t, s.tokens[i], s.ask()))
	}
	fork := must(t)(session.Fork(later[0].Sequence))
	s.same(t, "a fork", step(t, session, lm.Step{Sequence: fork, Ask: s.ask()})[0], s.fresh(t, s.tokens[0], s.ask()))
}

func (s *suite) testDrop(t *testing.T) {
	session := s.open(t)
	root := must(t)(session.New())
	step(t, session, lm.Step{Sequence: root, Tokens: s.tokens[1][:6]})
	fork := must(t)(session.Fork(root))
	if err := session.Drop(root); err != nil {
		t.Fatal(err)
	}
	// What the parent held may be used again by another sequence now.
	other := must(t)(session.New())
	step(t, session, lm.Step{Sequence: other, Tokens: s.tokens[2]})
	got := step(t, session, lm.Step{Sequence: fork, Tokens: s.tokens[1][6:], Ask: s.ask()})[0]
	s.same(t, "the fork", got, s.fresh(t, s.tokens[1], s.ask()))
	if err := session.Drop(root); !errors.Is(err, lm.ErrUnknownSequence) {
		t.Errorf("dropping twice: %v", err)
	}
	if _, err := session.Fork(root); !errors.Is(err, lm.ErrUnknownSequence) {
		t.Errorf("forking what was dropped: %v", err)
	}
	if _, err := session.Len(root); !errors.Is(err, lm.ErrUnknownSequence) {
		t.Errorf("length of what was dropped: %v", err)
	}
}

func (s *suite) testUsage(t *testing.T) {
	session := s.open(t)
	root := must(t)(session.New())
	step(t, session, lm.Step{Sequence: root, Tokens: s.tokens[0], Ask: s.ask()})
	first := session.Usage()
	if first.Computed <= 0 {
		t.Fatalf("%d tokens computed after a step", first.Computed)
	}
	if !s.info.Can.SharedPrefix {
		return
	}
	fork := must(t)(session.Fork(root))
	step(t, session, lm.Step{Sequence: fork, Tokens: s.tokens[3][:1], Ask: s.ask()})
	second := session.Usage()
	if second.Cached <= first.Cached {
		t.Error("a fork had nothing from the cache")
	}
	if s.info.Backend == "embedded" && second.Computed != first.Computed+1 {
		t.Errorf("a fork's next token cost %d tokens, not 1", second.Computed-first.Computed)
	}
	if total := s.model.Usage(); total.Computed < second.Computed {
		t.Errorf("the model counts %d tokens, one of its sessions %d", total.Computed, second.Computed)
	}
}

func (s *suite) testConcurrent(t *testing.T) {
	want := s.freshAll(t)
	got := make([]lm.Scores, len(s.tokens))
	errs := make([]error, len(s.tokens))
	var wait sync.WaitGroup
	for i, tokens := range s.tokens {
		wait.Go(func() {
			session, err := s.model.Open(context.Background())
			if err != nil {
				errs[i] = err
				return
			}
			defer session.Close()
			q, err := session.New()
			for _, token := range tokens {
				if err != nil {
					break
				}
				var scores []lm.Scores
				scores, err = session.Step(context.Background(), []lm.Step{{Sequence: q, Tokens: []lm.Token{token}, Ask: s.ask()}})
				if err == nil {
					got[i] = scores[0]
				}
			}
			errs[i] = err
		})
	}
	wait.Wait()
	for i := range got {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		s.same(t, fmt.Sprintf("text %d", i), got[i], want[i])
	}
}

// testHistories runs random histories of a session and compares every answer with
// that of a sequence of its own.
func (s *suite) testHistories(t *testing.T) {
	checks := 4
	if s.info.Backend == "embedded" {
		checks = 12
	}
	done := 0
	rapid.Check(t, func(r *rapid.T) {
		if done < checks {
			s.history(r)
			done++
		}
	})
}

func (s *suite) history(t *rapid.T) {
	session, err := s.model.Open(context.Background())
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer session.Close()
	held := map[lm.Sequence][]lm.Token{}
	var ids []lm.Sequence
	pick := rapid.IntRange(0, 1<<20)
	some := func(n int) []lm.Token {
		text := s.tokens[pick.Draw(t, "text")%len(s.tokens)]
		from := pick.Draw(t, "from") % len(text)
		return text[from:min(len(text), from+1+n)]
	}
	for range rapid.IntRange(3, 7).Draw(t, "moves") {
		kind := pick.Draw(t, "move") % 4
		switch {
		case len(ids) == 0 || kind == 0:
			q, err := session.New()
			if err != nil {
				t.Fatalf("new: %v", err)
			}
			ids, held[q] = append(ids, q), nil
		case kind == 1:
			parent := ids[pick.Draw(t, "parent")%len(ids)]
			q, err := session.Fork(parent)
			if err != nil {
				t.Fatalf("fork: %v", err)
			}
			ids, held[q] = append(ids, q), slices.Clone(held[parent])
		case kind == 2 && len(ids) > 2:
			at := pick.Draw(t, "drop") % len(ids)
			if err := session.Drop(ids[at]); err != nil {
				t.Fatalf("drop: %v", err)
			}
			delete(held, ids[at])
			ids = slices.Delete(ids, at, at+1)
		}
		var steps []lm.Step
		for _, q := range ids {
			if pick.Draw(t, "extend")%2 == 0 {
				more := some(pick.Draw(t, "length") % 40)
				held[q] = append(held[q], more...)
				steps = append(steps, lm.Step{Sequence: q, Tokens: more, Ask: s.ask()})
			}
		}
		scores, err := session.Step(context.Background(), steps)
		if err != nil {
			t.Fatalf("step: %v", err)
		}
		for i, st := range steps {
			s.same(t, "an answer", scores[i], s.fresh(t, held[st.Sequence], s.ask()))
		}
	}
}
