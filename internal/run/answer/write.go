package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/private"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/ensemble"
	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// answer answers a group of questions together: as many as can be paid for, and then says
// why not all. Those that have an answer stand, whatever it returns.
func (s *Session) answer(ctx context.Context, group []*question, total int64) error {
	var refused error
	for i, q := range group {
		if refused = s.reserve(ctx, q, total); refused != nil {
			group = group[:i]
			break
		}
	}
	if len(group) == 0 {
		return refused
	}
	show := func() {}
	if s.options.Hold != nil {
		show = s.options.Hold(ctx)
	}
	for _, q := range group {
		q.show = show
	}
	err := s.write(ctx, group)
	show()
	// The ledger learns what was released also when the caller has given up.
	ctx = context.WithoutCancel(ctx)
	s.odometer(ctx, group)
	s.attach(group)
	if err != nil {
		return errors.Join(s.forfeit(ctx, group, err), refused)
	}
	return refused
}

// attach adds warnings, which come once, to the first answer.
func (s *Session) attach(group []*question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range group {
		if q.answer != nil {
			q.answer.Warnings = append(s.warnings, q.answer.Warnings...)
			s.warnings = nil
			return
		}
	}
}

// write has a group of questions answered, with randomness of its own.
func (s *Session) write(ctx context.Context, group []*question) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key, err := s.key(group[0].index)
	if err != nil {
		return err
	}
	defer key.Erase()
	if s.options.Plan.Ensemble.Method != nil {
		return s.whole(ctx, key, group)
	}
	return s.tokens(ctx, key, group)
}

// key is fresh: answers that were written apart share no randomness. That of a list that continues is
// of the block that the index is in, whose questions have streams of their own.
func (s *Session) key(index uint64) (noise.Key, error) {
	if s.options.Env.Seed != nil {
		return noise.KeyFromSeed(*s.options.Env.Seed), nil
	}
	if s.again.repeats() {
		return s.again.key(index)
	}
	key, err := s.drawKey()
	if err == nil && !key.Private() {
		key.Erase()
		err = fmt.Errorf("the key was made from a seed, so that what it draws has no privacy guarantee: this is an internal error")
	}
	return key, err
}

// tokens writes answers token by token.
func (s *Session) tokens(ctx context.Context, key noise.Key, group []*question) error {
	byIndex := make(map[uint64]*question, len(group))
	jobs := make([]decode.Job, len(group))
	for i, q := range group {
		byIndex[q.index] = q
		jobs[i] = decode.Job{Text: draw.Text{Index: q.index}, Condition: q.input, Method: s.options.Plan.Write.Method}
	}
	o := decode.Options{
		Model: s.options.Env.Model, Task: s.options.Plan.Task, Key: key, Tokens: s.options.Plan.Tokens, Rules: s.options.Plan.Rules, Parallel: len(group), Answering: true,
		Stream: func(job decode.Job, soFar private.Output) { s.show(byIndex[job.Index], soFar) },
		Observe: func(p decode.Progress) {
			q := byIndex[p.Text]
			s.report(env.Progress{Kind: env.Wrote, Question: q.at + 1, Questions: q.of, Tokens: p.Tokens, Usage: p.Usage})
		},
	}
	if s.options.Data != nil {
		o.Pool = s.options.Data
	}
	w, err := decode.NewWriter(o)
	if err != nil {
		return err
	}
	defer func() { s.count(w.Usage()) }()
	return w.Write(ctx, jobs, func(job decode.Job, out private.Output) error {
		return s.release(ctx, byIndex[job.Index], out)
	})
}

// whole has each question answered by an ensemble.
func (s *Session) whole(ctx context.Context, key noise.Key, group []*question) error {
	o := ensemble.Options{Model: s.options.Env.Model, Encoder: s.options.Encoder, Task: s.options.Plan.Task, Key: key, Tokens: s.options.Plan.Tokens}
	if s.options.Data != nil {
		o.Pool = s.options.Data
	}
	a, err := ensemble.NewAnswerer(o)
	if err != nil {
		return err
	}
	defer func() { s.count(a.Usage()) }()
	for _, q := range group {
		out, err := a.Answer(ctx, ensemble.Job{Text: draw.Text{Index: q.index}, Input: q.input, Method: s.options.Plan.Ensemble.Method})
		if err == nil {
			err = s.release(ctx, q, out)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) count(u lm.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage = s.usage.Plus(u)
}

// release hands an answer out, if it was made by what is paid for.
func (s *Session) release(ctx context.Context, q *question, out private.Output) error {
	if err := s.covered(q, out); err != nil {
		return err
	}
	q.answer = &Answer{Input: q.input, Text: out.Text(), Steps: out.Steps(), Private: s.options.Plan.Private() && s.options.Env.Seed == nil, Charge: q.charge.ID}
	if q.answer.Private {
		q.answer.Event = s.event
	}
	q.show()
	if q.stream != nil && q.shown != out.Text() {
		q.stream(out.Text())
	}
	s.commit(context.WithoutCancel(ctx), q, out)
	return nil
}

// covered makes sure that an answer was made as the plan pays for.
func (s *Session) covered(q *question, out private.Output) error {
	if !s.options.Plan.Private() {
		return nil
	}
	ran := out.Event()
	if ran == nil || out.Steps() > s.options.Plan.Tokens || privacy.Canonical(ran).String() != s.event.String() {
		return fmt.Errorf("question %d was answered by what the plan does not pay for: this is an internal error; nothing of the answer is released", q.at+1)
	}
	return nil
}

// show streams what there is of an answer. The beginning of a stop string waits: if the
// rest follows, it is not part of the answer.
func (s *Session) show(q *question, soFar private.Output) {
	if q.stream == nil || s.covered(q, soFar) != nil {
		return
	}
	text := soFar.Text()
	for _, stop := range s.options.Plan.Task.WithDefaults().Stop {
		text = strings.TrimSpace(withhold(text, stop))
	}
	if len(text) > len(q.shown) {
		q.shown = text
		q.stream(text)
	}
}

// withhold cuts the longest end of a text that a stop string begins with.
func withhold(text, stop string) string {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return text[:len(text)-n]
		}
	}
	return text
}
