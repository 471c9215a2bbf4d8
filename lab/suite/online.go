package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy"
)

// online answers the test items from records.
func (r *runner) online(ctx context.Context, e *entry) (err error) {
	if e.writer, err = r.model(ctx, e.cell.Model); err != nil {
		return err
	}
	e.answerer = e.writer
	if e.online, err = r.planOnline(ctx, e.cell, e.writer); err != nil {
		return err
	}
	e.answers, err = r.answersOnline(ctx, e)
	return err
}

// planOnline is plan, of answers.
func (r *runner) planOnline(ctx context.Context, c Cell, m model) (*sharedPlan[plan.Answers], error) {
	return planOnce(r, &r.plansOnline, "plan of answers", c, m, plan.Answers.Check, func() (*sharedPlan[plan.Answers], error) {
		p, err := plan.NewAnswers(c.Request())
		out := &sharedPlan[plan.Answers]{Plan: p}
		if err != nil || !c.Reads() {
			return out, err
		}
		shape, err := plan.AnswerShapeOf(ctx, m.trusted.Tokenizer(), p.Task)
		if err != nil {
			return nil, err
		}
		out.Published = int64(p.Cost(shape, plan.Speed{}).Uncached.Tokens)
		if p.Private() {
			out.Epsilon, err = epsilonUpper(privacy.Repeat{N: p.Answers, Event: p.Event()}, p.Adjacency, p.Delta)
		}
		return out, err
	})
}

// block is how many items are answered in one go, from randomness of their own, and then
// kept: so that not all is lost where a suite is interrupted, and a larger test finds what
// a smaller one has answered.
const block = 50

// answersOnline returns the answers to the test items, from the cache as far as they are
// there.
func (r *runner) answersOnline(ctx context.Context, e *entry) (*answers, error) {
	all := &answers{How: "from records, online"}
	var keys []string
	var asked int64
	cached := true
	for from := 0; from < len(e.data.inputs); from += block {
		inputs := e.data.inputs[from:min(from+block, len(e.data.inputs))]
		part, there, err := r.block(ctx, e, from/block, inputs)
		if err != nil {
			return nil, err
		}
		if !there {
			cached = false
			asked += part.Usage.Computed
		}
		all.Raw = append(all.Raw, part.Raw...)
		all.Usage = all.Usage.Plus(part.Usage)
		all.Seconds += part.Seconds
		keys = append(keys, part.key)
	}
	var err error
	if all.key, err = keyOf("answers online", keys); err != nil {
		return nil, err
	}
	r.report(Progress{Kind: Answered, Cell: e.listed, Cached: cached, Tokens: asked})
	return all, nil
}

// block answers a part of the items, unless that was done before.
func (r *runner) block(ctx context.Context, e *entry, number int, inputs []string) (out *answers, there bool, err error) {
	canonical, err := json.Marshal(e.online.Plan)
	if err != nil {
		return nil, false, fmt.Errorf("encode the plan: %w", err)
	}
	records := ""
	if e.cell.Reads() {
		if records, err = e.data.fingerprint(); err != nil {
			return nil, false, err
		}
	}
	key, err := keyOf("answers online", json.RawMessage(canonical), records, e.cell.Seed, number, e.writer.id, inputs)
	if err != nil {
		return nil, false, err
	}
	out, there, err = keep(r.store, "answers", key, func(a *answers) bool { return len(a.Raw) == len(inputs) }, func() (*answers, error) {
		return r.askOnline(ctx, e, number, inputs)
	})
	if err == nil {
		out.key = key
	}
	return out, there, err
}

// askOnline answers items in a session of their own, seeded.
func (r *runner) askOnline(ctx context.Context, e *entry, number int, inputs []string) (out *answers, err error) {
	began := time.Now()
	// Different blocks of one seed draw different records, as do different seeds.
	seed := e.cell.Seed + uint64(number)<<32
	o := sotto.AnswerOptions{
		Use:  sotto.Use{NonPrivate: true, Seed: &seed},
		Plan: &e.online.Plan, Encoder: r.Sentences, Parallel: r.Texts,
		Cut: true, // as where demonstrations answer
	}
	if e.cell.Reads() {
		o.Source = r.source(e.cell, e.data)
	}
	client, err := r.client(e.writer)
	if err != nil {
		return nil, err
	}
	session, err := e.data.open(ctx, client, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	out = &answers{Raw: make([]string, len(inputs))}
	err = session.All(ctx, inputs, func(i int, a *sotto.Answer) error {
		out.Raw[i] = a.Text
		return nil
	})
	out.Usage, out.Seconds = session.Usage(), time.Since(began).Seconds()
	return out, err
}
