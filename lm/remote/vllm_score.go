package remote

import (
	"context"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// score groups queries by what they request, since a request has one list of tokens for all
// its prompts.
func (d *vllm) score(ctx context.Context, c *Client, questions []scoreQuery) ([]answer, lm.Usage, error) {
	answers := make([]answer, len(questions))
	var usage lm.Usage
	for _, group := range groups(questions) {
		for part := range slices.Chunk(group, vllmPrompts) {
			prompts := make([][]lm.Token, len(part))
			for i, at := range part {
				prompts[i] = questions[at].tokens
			}
			first := questions[part[0]]
			take := func(got []answer, u lm.Usage, err error) error {
				usage = usage.Plus(u)
				for i, a := range got {
					answers[part[i]] = merge(answers[part[i]], a)
				}
				return err
			}
			if first.candidates == nil {
				if err := take(d.best(ctx, c, prompts, first.top, first.alone)); err != nil {
					return nil, usage, err
				}
			}
			for ids := range slices.Chunk(first.candidates, vllmIDs) {
				got, u, err := d.chosen(ctx, c, prompts, ids, first.alone)
				for i := range got {
					got[i] = got[i].only(ids)
				}
				if err := take(got, u, err); err != nil {
					return nil, usage, err
				}
			}
		}
	}
	return answers, usage, nil
}

// only drops what was not requested: the token that the server generated comes along.
func (a answer) only(ids []lm.Token) answer {
	asked := make(map[lm.Token]struct{}, len(ids))
	for _, id := range ids {
		asked[id] = struct{}{}
	}
	return slices.DeleteFunc(a, func(s tokenScore) bool {
		_, ok := asked[s.token]
		return !ok
	})
}

func merge(a, b answer) answer {
	if a == nil {
		return b
	}
	return append(a, b...)
}

// groups lists the indices of queries that request the same.
func groups(questions []scoreQuery) [][]int {
	var out [][]int
next:
	for i, q := range questions {
		for g, group := range out {
			first := questions[group[0]]
			if first.top == q.top && slices.Equal(first.candidates, q.candidates) {
				out[g] = append(group, i)
				continue next
			}
		}
		out = append(out, []int{i})
	}
	return out
}
