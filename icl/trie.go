package icl

import (
	"context"
	"fmt"

	"sotto/lm"
)

// trie holds the tokens of labels, so that what labels begin with is computed once.
type trie struct {
	root *node
	// lengths of the labels in tokens, depth the largest. deep: it is more than one;
	// uneven: they differ.
	lengths      []int
	depth        int
	deep, uneven bool
}

// node stands for the tokens that lead to it.
type node struct {
	token    lm.Token
	children []*node
	// labels that pass through here, as indices of the list.
	labels []int
}

func newTrie(ctx context.Context, tok lm.Tokenizer, labels []string) (*trie, error) {
	t := &trie{root: &node{}}
	for i, l := range labels {
		tokens, err := tok.Encode(ctx, " "+l)
		if err != nil {
			return nil, err
		}
		if len(tokens) == 0 {
			return nil, fmt.Errorf("label %d has no tokens: write it in letters that the model knows", i+1)
		}
		t.lengths = append(t.lengths, len(tokens))
		t.depth = max(t.depth, len(tokens))
		t.uneven = t.uneven || len(tokens) != t.lengths[0]
		at := t.root
		for _, token := range tokens {
			at = at.child(token)
			at.labels = append(at.labels, i)
		}
	}
	t.deep = t.depth > 1
	return t, nil
}

// child finds or makes the node that a token leads to.
func (n *node) child(token lm.Token) *node {
	for _, c := range n.children {
		if c.token == token {
			return c
		}
	}
	c := &node{token: token}
	n.children = append(n.children, c)
	return c
}

func (n *node) tokens() []lm.Token {
	tokens := make([]lm.Token, len(n.children))
	for i, c := range n.children {
		tokens[i] = c.token
	}
	return tokens
}
