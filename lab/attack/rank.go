package attack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// node of a tree of texts in tokens: what begins alike is computed once.
type node struct {
	children map[lm.Token]*node
	order    []lm.Token
	// leaf is the number of the text that ends here, -1 if none does.
	leaf int
}

func newTree(texts [][]lm.Token) (*node, error) {
	root := &node{leaf: -1}
	for i, tokens := range texts {
		at := root
		for _, t := range tokens {
			if at.leaf >= 0 {
				return nil, errors.New("one of the possible texts is the beginning of another")
			}
			if at.children == nil {
				at.children = map[lm.Token]*node{}
			}
			next := at.children[t]
			if next == nil {
				next = &node{leaf: -1}
				at.children[t] = next
				at.order = append(at.order, t)
			}
			at = next
		}
		if at == root || at.leaf >= 0 || len(at.children) > 0 {
			return nil, errors.New("the possible texts should be different, and none empty or the beginning of another")
		}
		at.leaf = i
	}
	return root, nil
}

// growth is a part of the tree whose beginning is in a sequence of a session, except for its last tokens.
type growth struct {
	at       *node
	sequence lm.Sequence
	next     []lm.Token
	score    float64
}

// among scores all texts that may follow a sequence, by the sum of their tokens' log-probabilities, each
// among the tokens that are possible there. The sequence stays; tokens come before each text.
func among(ctx context.Context, session lm.Session, from lm.Sequence, before []lm.Token, texts [][]lm.Token, together int) (scores []float64, err error) {
	tree, err := newTree(texts)
	if err != nil {
		return nil, err
	}
	if len(before) == 0 {
		return nil, errors.New("something has to come before the texts")
	}
	scores = make([]float64, len(texts))
	first, err := session.Fork(from)
	if err != nil {
		return nil, err
	}
	level := []growth{{tree, first, before, 0}}
	defer func() {
		for _, g := range level {
			err = errors.Join(err, session.Drop(g.sequence))
		}
	}()
	for len(level) > 0 {
		n := min(len(level), max(1, together))
		steps := make([]lm.Step, n)
		for i, g := range level[:n] {
			steps[i] = lm.Step{Sequence: g.sequence, Tokens: g.next, Ask: lm.Ask{Candidates: g.at.order}}
		}
		answers, err := session.Step(ctx, steps)
		if err != nil {
			return nil, err
		}
		done := level[:n:n]
		level = level[n:]
		for i, g := range done {
			for j, t := range g.at.order {
				child := g.at.children[t]
				score := g.score + answers[i].LogProbs[slices.Index(answers[i].Tokens, g.at.order[j])]
				if child.leaf >= 0 {
					scores[child.leaf] = score
					continue
				}
				fork, err := session.Fork(g.sequence)
				if err != nil {
					return nil, errors.Join(err, session.Drop(g.sequence))
				}
				level = append(level, growth{child, fork, []lm.Token{t}, score})
			}
			if err := session.Drop(g.sequence); err != nil {
				return nil, fmt.Errorf("after scoring: %w", err)
			}
		}
	}
	return scores, nil
}

// place of one score among all, the highest first; equal ones share the place in their middle.
func place(scores []float64, of int) int {
	above, equal := 0, 0
	for i, s := range scores {
		switch {
		case s > scores[of]:
			above++
		case s == scores[of] && i != of:
			equal++
		}
	}
	return 1 + above + (equal+1)/2
}
