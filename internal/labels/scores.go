package labels

import (
	"context"
	"errors"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// Prompt is a prompt that a label follows: a sequence, which is not changed, and more
// tokens.
type Prompt struct {
	From   lm.Sequence
	Tokens []lm.Token
}

// Options configure the scoring of labels.
type Options struct {
	// Can lists the capabilities of the session's model.
	Can lm.Capabilities
	// Sequences is the maximal number that a step extends; 0 takes all at once.
	Sequences int
	// Whole also normalises the first token's probability over the whole vocabulary.
	Whole bool
}

// visit is a prompt that has reached a node of the trie.
type visit struct {
	item     int
	node     *node
	sequence lm.Sequence
	tokens   []lm.Token // to extend the sequence with
}

// scorePass is a pass over some prompts.
type scorePass struct {
	*List
	Options
	session lm.Session
}

// Scores returns the log-probabilities of all labels after each prompt. The prompts'
// sequences are left unchanged.
func (l *List) Scores(ctx context.Context, session lm.Session, prompts []Prompt, o Options) (scores [][]float64, err error) {
	p := scorePass{l, o, session}
	var level, next []visit // of sequences that are open
	defer func() {
		for _, v := range slices.Concat(level, next) {
			err = errors.Join(err, session.Drop(v.sequence))
		}
		if err != nil {
			scores = nil
		}
	}()
	scores = make([][]float64, len(prompts))
	for i, q := range prompts {
		scores[i] = make([]float64, len(l.lengths))
		s, err := session.Fork(q.From)
		if err != nil {
			return nil, err
		}
		level = append(level, visit{i, l.root, s, q.Tokens})
	}
	for ; len(level) > 0; level, next = next, nil {
		for len(level) > 0 {
			part := level
			if o.Sequences > 0 {
				part = level[:min(len(level), o.Sequences)]
			}
			answers, err := p.ask(ctx, part)
			if err != nil {
				return nil, err
			}
			for i, v := range part {
				if next, err = p.deeper(v, answers[i], scores[v.item], next); err != nil {
					return nil, err
				}
				level = level[1:]
				if err := session.Drop(v.sequence); err != nil {
					return nil, err
				}
			}
		}
	}
	return scores, nil
}

// deeper adds the scores of a node's children to the labels behind them, and appends visits
// to those that have children themselves.
func (p scorePass) deeper(v visit, answers, scores []float64, next []visit) ([]visit, error) {
	for j, child := range v.node.children {
		for _, label := range child.labels {
			scores[label] += answers[j]
		}
		if len(child.children) == 0 {
			continue
		}
		s, err := p.session.Fork(v.sequence)
		if err != nil {
			return next, err
		}
		next = append(next, visit{v.item, child, s, []lm.Token{child.token}})
	}
	return next, nil
}

// ask extends sequences and returns log-probabilities of the children of each node. All
// visits are of one level.
func (p scorePass) ask(ctx context.Context, visits []visit) ([][]float64, error) {
	switch {
	case visits[0].node == p.root && !p.Whole:
		return p.askAmong(ctx, visits)
	case p.Can.Top:
		return p.askBeside(ctx, visits)
	}
	return p.askAll(ctx, visits)
}

// askAmong returns log-probabilities among the children.
func (p scorePass) askAmong(ctx context.Context, visits []visit) ([][]float64, error) {
	candidates := visits[0].node.tokens()
	answers, err := p.step(ctx, visits, func(int) lm.Ask { return lm.Ask{Candidates: candidates} })
	if err != nil {
		return nil, err
	}
	logs := make([][]float64, len(visits))
	for i, a := range answers {
		logs[i] = a.LogProbs
	}
	return logs, nil
}

// askBeside returns log-probabilities over the whole vocabulary without listing it: it gets
// the best token's, and the children's relative to it.
//
//	log p(child) = log p(best) + log (p(child) / p(best))
func (p scorePass) askBeside(ctx context.Context, visits []visit) ([][]float64, error) {
	best, err := p.step(ctx, visits, func(int) lm.Ask { return lm.Ask{Top: 1} })
	if err != nil {
		return nil, err
	}
	again := slices.Clone(visits)
	for i := range again {
		again[i].tokens = nil // they are in
	}
	answers, err := p.step(ctx, again, func(i int) lm.Ask {
		candidates := visits[i].node.tokens()
		if top := best[i].Tokens[0]; !slices.Contains(candidates, top) {
			candidates = append(candidates, top)
		}
		return lm.Ask{Candidates: candidates}
	})
	if err != nil {
		return nil, err
	}
	logs := make([][]float64, len(visits))
	for i, a := range answers {
		more := best[i].LogProbs[0] - a.LogProbs[slices.Index(a.Tokens, best[i].Tokens[0])]
		logs[i] = make([]float64, len(visits[i].node.children))
		for j := range logs[i] {
			logs[i][j] = a.LogProbs[j] + more
		}
	}
	return logs, nil
}

// askAll reads the children's scores off the whole distribution.
func (p scorePass) askAll(ctx context.Context, visits []visit) ([][]float64, error) {
	answers, err := p.step(ctx, visits, func(int) lm.Ask { return lm.Ask{All: true} })
	if err != nil {
		return nil, err
	}
	logs := make([][]float64, len(visits))
	for i, a := range answers {
		for _, child := range visits[i].node.children {
			logs[i] = append(logs[i], a.LogProbs[child.token])
		}
	}
	return logs, nil
}

func (p scorePass) step(ctx context.Context, visits []visit, ask func(i int) lm.Ask) ([]lm.Scores, error) {
	steps := make([]lm.Step, len(visits))
	for i, v := range visits {
		steps[i] = lm.Step{Sequence: v.sequence, Tokens: v.tokens, Ask: ask(i)}
	}
	return p.session.Step(ctx, steps)
}
