package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/metric/rouge"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// side is one way to answer.
type side struct {
	name   string
	method string
	per    scheme.Per
	// published computes every prompt of every token in full, one at a time.
	published bool
	// against is the side with the same method, as published.
	against int
	// scored: what it writes is compared with the right answers.
	scored bool
}

// The sides that others are compared with.
const (
	mixingToken = iota + 1
	mixingPublished
	_
	clippedPublished
)

// sides in the order that they take turns in. Each draws as many records for a token, or
// for an answer, as the others of its method.
var sides = []side{
	{name: "`mixing`, a draw an answer", method: "mixing", per: scheme.PerText, against: mixingPublished, scored: true},
	{name: "`mixing`, a draw a token, what can be cached is", method: "mixing", per: scheme.PerToken, against: mixingPublished, scored: true},
	{name: "`mixing`, a draw a token, as published", method: "mixing", per: scheme.PerToken, published: true, against: mixingPublished},
	{name: "`clipped`, a draw an answer", method: "clipped", per: scheme.PerText, against: clippedPublished, scored: true},
	{name: "`clipped`, a draw a token, as published", method: "clipped", per: scheme.PerToken, published: true, against: clippedPublished},
}

// cost of one answer.
type cost struct {
	seconds float64
	// picking is the part of it that went into aggregation and noise.
	picking float64
	tokens  int64
	steps   int
}

// table is what all sides did for one data set.
type table struct {
	*dataset
	plans []plan.Answers
	// costs by side and question.
	costs [][]cost
	// scores by side, seed and question: ROUGE-L in percent. As published there are none:
	// the schedule does not change an answer.
	scores [][][]float64
}

func (b *bench) table(ctx context.Context, name string) (*table, error) {
	d, err := b.dataset(ctx, name)
	if err != nil {
		return nil, err
	}
	defer d.data.Close()
	t := &table{dataset: d, costs: make([][]cost, len(sides)), scores: make([][][]float64, len(sides))}
	for _, s := range sides {
		batch := b.shots
		if s.method == "clipped" {
			batch = 0
			if s.published {
				batch = int(t.plans[len(t.plans)-1].Write.Method.(*decode.Clipped).Expected)
			}
		}
		p, err := b.plan(d, s, batch)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		t.plans = append(t.plans, p)
	}
	for q := range b.timed {
		if err := b.time(ctx, t, q); err != nil {
			return nil, err
		}
	}
	for i, s := range sides {
		for seed := 0; seed < b.seeds && s.scored; seed++ {
			scores, err := b.score(ctx, t, i, seed)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			t.scores[i] = append(t.scores[i], scores)
			fmt.Fprintf(os.Stderr, "== %s, %s: ROUGE-L %.1f\n", t.name, s.name, stat.Mean(scores))
		}
	}
	return t, nil
}

// time lets the sides answer one question in turns, so that what else the machine does
// hits all. Answers are as long as the right one, whatever they say.
func (b *bench) time(ctx context.Context, t *table, q int) error {
	right, err := b.model.Tokenizer().Encode(ctx, " "+t.items[q].Output)
	if err != nil {
		return err
	}
	var before string
	for i, s := range sides {
		p := t.plans[i]
		p.Tokens = min(p.Tokens, len(right)+1)
		p.Rules.MinTokens = p.Tokens
		texts, c, err := b.write(ctx, t, work{plan: p, questions: t.items[q : q+1], seed: uint64(q), published: s.published})
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if i == mixingPublished && texts[0] != before {
			return fmt.Errorf("question %d: the schedule changes the answer, so that the comparison would be of different things", q+1)
		}
		before = texts[0]
		t.costs[i] = append(t.costs[i], c)
		fmt.Fprintf(os.Stderr, "== %s, question %d of %d: %s: %.1f s, %d model tokens, %d written\n", t.name, q+1, b.timed, s.name, c.seconds, c.tokens, c.steps)
	}
	return nil
}

// score answers all questions, several at once.
func (b *bench) score(ctx context.Context, t *table, side, seed int) ([]float64, error) {
	texts, _, err := b.write(ctx, t, work{plan: t.plans[side], questions: t.items, seed: uint64(seed)})
	scores := make([]float64, len(texts))
	for q, text := range texts {
		scores[q] = 100 * rouge.Options{Stem: true}.L(t.items[q].Output, text).F1
	}
	return scores, err
}

// plan calibrates a side to the ε that all have. A batch of 0 is for package plan to choose.
func (b *bench) plan(d *dataset, s side, batch int) (plan.Answers, error) {
	return plan.NewAnswers(plan.Request{
		Task: d.task, Method: s.method, Size: d.size, Epsilon: b.epsilon, Answers: b.answers, Tokens: b.tokens, Settings: method.Values{"per": s.per, "batch": batch}.Given(),
	})
}

// work is what a writer does.
type work struct {
	plan      plan.Answers
	questions []eval.Item
	seed      uint64
	published bool
}

// write answers questions: it draws, reads the records, and writes.
func (b *bench) write(ctx context.Context, t *table, k work) ([]string, cost, error) {
	var c cost
	start := time.Now()
	w, err := decode.NewWriter(decode.Options{
		Model: b.model, Task: t.task, Pool: t.data, Key: noise.KeyFromSeed(k.seed), Tokens: k.plan.Tokens, Rules: k.plan.Rules,
		Answering: true, Published: k.published, Parallel: b.parallel,
	})
	if err != nil {
		return nil, c, err
	}
	var jobs []decode.Job
	for q, item := range k.questions {
		jobs = append(jobs, decode.Job{Text: draw.Text{Index: uint64(q)}, Condition: item.Input, Method: k.plan.Write.Method})
	}
	texts := make([]string, len(jobs))
	err = w.Write(ctx, jobs, func(j decode.Job, r private.Output) error {
		texts[j.Index] = r.Text()
		c.steps += r.Steps()
		return nil
	})
	c.seconds, c.picking, c.tokens = time.Since(start).Seconds(), w.Picking().Seconds(), w.Usage().Computed
	return texts, c, err
}
