package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"sotto/eval"
	"sotto/eval/rouge"
	"sotto/plan"
	"sotto/privacy/noise"
	"sotto/private"
	"sotto/private/decode"
	"sotto/private/draw"
)

// side is one way to answer.
type side struct {
	name   string
	method string
	per    draw.Per
	// published computes every prompt of every token in full, one at a time.
	published bool
}

// sides in the order that they take turns in. The last is what the others are compared
// with; what it writes is what the one before it does.
var sides = []side{
	{name: "`mixing`, a draw an answer", method: "mixing", per: draw.PerText},
	{name: "`clipped`, a draw an answer", method: "clipped", per: draw.PerText},
	{name: "`mixing`, a draw a token, what can be cached is", method: "mixing", per: draw.PerToken},
	{name: "`mixing`, a draw a token, as published", method: "mixing", per: draw.PerToken, published: true},
}

const (
	ours = iota
	clipped
	perToken
	asPublished
)

// done is one answer.
type done struct {
	text    string
	seconds float64
	// picking is the part of it that went into aggregation and noise.
	picking float64
	tokens  int64
	steps   int
	rouge   float64
}

// table is what all sides did for one data set.
type table struct {
	*dataset
	plans []plan.Answers
	// answers by side, seed and question; as published, of the first questions and the
	// first seed alone.
	answers [][][]done
}

func (b *bench) table(ctx context.Context, name string) (*table, error) {
	d, err := b.dataset(ctx, name)
	if err != nil {
		return nil, err
	}
	defer d.data.Close()
	t := &table{dataset: d, answers: make([][][]done, len(sides))}
	for _, s := range sides {
		p, err := b.plan(d, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		t.plans = append(t.plans, p)
	}
	for seed := range b.seeds {
		if err := b.seed(ctx, t, seed); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// seed answers all questions once. For each question the sides take turns, so that what
// else the machine does hits all.
func (b *bench) seed(ctx context.Context, t *table, seed int) error {
	for i := range sides {
		t.answers[i] = append(t.answers[i], nil)
	}
	for q := range t.items {
		for i, s := range sides {
			if s.published && (seed > 0 || q >= b.timed) {
				continue
			}
			a, err := b.answer(ctx, t, i, seed, q)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if before := t.answers[perToken][seed]; s.published && a.text != before[q].text {
				return fmt.Errorf("question %d: the schedule changes the answer, so that the comparison would be of different things", q+1)
			}
			t.answers[i][seed] = append(t.answers[i][seed], a)
			fmt.Fprintf(os.Stderr, "== %s, question %d of %d: %s: %.1f s, %d model tokens, %d written\n", t.name, q+1, len(t.items), s.name, a.seconds, a.tokens, a.steps)
		}
	}
	return nil
}

// plan calibrates a side to the ε that all have.
func (b *bench) plan(d *dataset, s side) (plan.Answers, error) {
	r := plan.Request{
		Task: d.task, Method: s.method, Size: d.size, Epsilon: b.epsilon, Answers: b.answers, Tokens: b.tokens, Per: s.per,
	}
	if s.method == "mixing" {
		r.Batch = b.shots
	}
	return plan.NewAnswers(r)
}

// timed measures the time that picks take.
type timed struct {
	decode.Method
	spent *time.Duration
}

func (t timed) Pick(v decode.View, s *noise.Stream) (int, error) {
	start := time.Now()
	defer func() { *t.spent += time.Since(start) }()
	return t.Method.Pick(v, s)
}

// answer answers one question: it draws, reads the records, and writes.
func (b *bench) answer(ctx context.Context, t *table, side, seed, q int) (done, error) {
	p := t.plans[side]
	var a done
	var picking time.Duration
	start := time.Now()
	w, err := decode.NewWriter(decode.Options{
		Model: b.model, Task: t.task, Pool: t.data, Key: noise.KeyFromSeed(uint64(seed)), Tokens: p.Tokens, Rules: p.Rules,
		Answering: true, Published: sides[side].published,
	})
	if err != nil {
		return a, err
	}
	job := decode.Job{Text: draw.Text{Index: uint64(q)}, Condition: t.items[q].Input, Method: timed{p.Write.Method, &picking}}
	err = w.Write(ctx, []decode.Job{job}, func(_ decode.Job, r private.Released) error {
		a.text, a.steps = r.Text(), r.Steps()
		return nil
	})
	a.seconds, a.picking, a.tokens = time.Since(start).Seconds(), picking.Seconds(), w.Usage().Computed
	a.rouge = score(t.items[q], a.text)
	return a, err
}

// score is ROUGE-L with the reference that is nearest.
func score(item eval.Item, text string) float64 {
	best := rouge.Options{Stem: true}.L(item.Output, text).F1
	for _, want := range item.References {
		best = max(best, rouge.Options{Stem: true}.L(want, text).F1)
	}
	return best
}
