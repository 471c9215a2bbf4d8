package labels

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/lm"
)

// List holds the tokens of labels as a trie.
type List struct {
	root    *node
	lengths []int
	depth   int
	uneven  bool
}

// node stands for the tokens that lead to it.
type node struct {
	token    lm.Token
	children []*node
	// labels that pass through here, as indices of the list.
	labels []int
}

// New encodes labels as they follow a prompt: with a space in front.
func New(ctx context.Context, tok lm.Tokenizer, labels []string) (*List, error) {
	l := &List{root: &node{}}
	for i, label := range labels {
		tokens, err := tok.Encode(ctx, " "+label)
		if err != nil {
			return nil, err
		}
		if len(tokens) == 0 {
			return nil, fmt.Errorf("label %d has no tokens: write it in letters that the model knows", i+1)
		}
		l.lengths = append(l.lengths, len(tokens))
		l.depth = max(l.depth, len(tokens))
		l.uneven = l.uneven || len(tokens) != l.lengths[0]
		at := l.root
		for _, token := range tokens {
			at = at.child(token)
			at.labels = append(at.labels, i)
		}
	}
	return l, nil
}

// Length returns the number of tokens of a label.
func (l *List) Length(label int) int { return l.lengths[label] }

// Depth returns the largest number of tokens of a label.
func (l *List) Depth() int { return l.depth }

// UnevenLengths reports whether labels differ in their number of tokens.
func (l *List) UnevenLengths() bool { return l.uneven }

// Check returns an *[lm.UnsupportedError] if a model does not provide the scores that the
// labels need; whole is as in [Options].
func (l *List) Check(info lm.Info, whole bool) error {
	if !info.Can.Candidates {
		return &lm.UnsupportedError{Backend: info.Backend, What: "score labels", Missing: "it does not answer for chosen tokens; use another model"}
	}
	if (l.depth > 1 || whole) && !info.Can.Top && !info.Can.All {
		return &lm.UnsupportedError{
			Backend: info.Backend, What: "score labels of several tokens",
			Missing: "it does not return probabilities over its whole vocabulary; use another model, or rename labels in the task so that each is one token",
		}
	}
	return nil
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
