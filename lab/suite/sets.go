package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/prompt"
)

// sharedPlan is what the seeds of a cell share, as it is kept: a plan of demonstrations, or of
// answers online.
type sharedPlan[P plan.Plan | plan.Answers] struct {
	Plan P `json:"plan"`
	// Epsilon is what the accountant says of the plan's event, or of all answers together.
	Epsilon float64 `json:"epsilon"`
	// Published is the number of tokens of the papers' schedule, of a set or of one answer.
	Published int64 `json:"published"`
}

// set is a demonstration set as it is kept.
type set struct {
	Demos []prompt.Example `json:"demos"`
	// Prompt is what records chose, if they did: its examples are Demos.
	Prompt *prompt.Prompt `json:"prompt,omitempty"`
	// Evidence is what all records say, if the prompt uses it.
	Evidence *evidence.Evidence `json:"evidence,omitempty"`
	// each item's own demonstrations, in the order of the items; nil if all have the same.
	each    [][]prompt.Example
	Usage   lm.Usage `json:"usage"`
	Seconds float64  `json:"seconds"`

	key string
}

// planOnce makes a plan once for all seeds, since calibration takes its time, and keeps it
// for as long as the program is the same: another one may choose otherwise.
func planOnce[P plan.Plan | plan.Answers](r *runner, known *once[*sharedPlan[P]], stage string, c Cell, m model, check func(P) error, make func() (*sharedPlan[P], error)) (*sharedPlan[P], error) {
	build, err := r.build()
	if err != nil {
		return nil, err
	}
	key, err := keyOf(stage, build, c.Request(), m.id)
	if err != nil {
		return nil, err
	}
	return known.get(key, func() (*sharedPlan[P], error) {
		out, _, err := keep(r.store, "plans", key, func(p *sharedPlan[P]) bool { return check(p.Plan) == nil }, make)
		return out, err
	})
}

func (r *runner) plan(ctx context.Context, c Cell, m model) (*sharedPlan[plan.Plan], error) {
	return planOnce(r, &r.plans, "plan", c, m, plan.Plan.Check, func() (*sharedPlan[plan.Plan], error) {
		request := c.Request()
		switch {
		case !c.compares():
		case request.Learning != nil:
			request.Learning.Encoder = r.Sentences.Name()
		default:
			request.Choosing.Encoder = r.Sentences.Name()
		}
		p, err := plan.New(request)
		out := &sharedPlan[plan.Plan]{Plan: p}
		if err != nil || !c.Reads() {
			return out, err
		}
		if !p.Learns() { // else no model takes part
			shape, err := plan.ShapeOf(ctx, m.trusted.Tokenizer(), p.Task, p.Conditions)
			if err != nil {
				return nil, err
			}
			out.Published = int64(p.Cost(shape, plan.Speed{}).Uncached.Tokens)
		}
		if p.Private() {
			out.Epsilon, err = epsilonUpper(p.Event(), p.Adjacency, p.Delta)
		}
		return out, err
	})
}

// epsilonUpper is what the accountant says of an event.
func epsilonUpper(e privacy.Event, a privacy.Adjacency, delta float64) (float64, error) {
	i, err := accountant.Auto{}.Epsilon(e, a, delta)
	if err != nil {
		return 0, fmt.Errorf("compute ε: %w", err)
	}
	return i.Upper, nil
}

// hashProgram distinguishes programs, also of the same version.
func hashProgram() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find out which program this is: %w", err)
	}
	return hashFile(path)
}

// set returns the demonstrations of a cell, from the cache if they are there.
func (r *runner) set(ctx context.Context, c Cell, p *sharedPlan[plan.Plan], m model, d *dataset) (*set, error) {
	canonical, err := json.Marshal(p.Plan)
	if err != nil {
		return nil, fmt.Errorf("encode the plan: %w", err)
	}
	records := ""
	if c.Reads() {
		if records, err = d.fingerprint(); err != nil {
			return nil, err
		}
	}
	key, err := keyOf("set", json.RawMessage(canonical), records, c.Seed, m.id)
	if err != nil {
		return nil, err
	}
	return r.sets.get(key, func() (*set, error) {
		out, there, err := keep(r.store, "sets", key, nil, func() (*set, error) { return r.write(ctx, c, p, m, d) })
		if err != nil {
			return nil, err
		}
		out.key = key
		r.report(Progress{Kind: Written, Cell: c}.by(out.Usage, there))
		return out, nil
	})
}

// source of the records of a cell.
func (r *runner) source(c Cell, d *dataset) sotto.Source {
	return sotto.Source{Location: d.train, SkipMalformed: c.Dataset.SkipMalformed}
}

// client keeps the index of records in the store. All runs are seeded: nothing is charged.
func (r *runner) client(m model) (*sotto.Client, error) {
	return sotto.Open(r.store.dir, &sotto.Options{Trusted: m.trusted, Encoder: r.Sentences})
}

// write carries out the plan, seeded, in a folder that is removed afterwards.
func (r *runner) write(ctx context.Context, c Cell, p *sharedPlan[plan.Plan], m model, d *dataset) (out *set, err error) {
	dir, err := r.store.scratch()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	client, err := r.client(m)
	if err != nil {
		return nil, err
	}
	o := sotto.SynthesizeOptions{
		Use:  sotto.Use{NonPrivate: true, Seed: &c.Seed},
		Plan: &p.Plan, Out: filepath.Join(dir, "run"), Parallel: r.Texts, PassTokens: r.PassTokens,
	}
	if c.Reads() {
		o.Source = r.source(c, d)
		if err := d.enrol(ctx, client, o.Source); err != nil {
			return nil, err
		}
	}
	done, err := client.Synthesize(ctx, o)
	if err != nil {
		return nil, err
	}
	out = &set{Usage: done.Usage, Seconds: done.Seconds, Prompt: done.Prompt}
	if p := done.Prompt; p != nil && p.Evidence.Used() {
		out.Evidence = done.Evidence
	}
	out.Demos = append(out.Demos, done.Examples...)
	return out, nil
}
