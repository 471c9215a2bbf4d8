package grader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/labels"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/lm"
)

// batch is one call of [Grader.Judge].
type batch struct {
	*Grader
	session lm.Session // nil where the model writes by itself
	before  lm.Usage   // of the model
	// turns: prompts are turns of a conversation.
	turns   bool
	cases   []item
	records int
}

// gradesOf is what records said about a stem, by how answers are read.
type gradesOf map[reading][]int64

// silent are grades of 0.
func (h *batch) silent(s stem) gradesOf {
	out := gradesOf{}
	for _, r := range s.readings {
		out[r] = make([]int64, h.records)
	}
	return out
}

// alone reports whether the model writes answers by itself, without a session.
func (h *batch) alone() bool { return h.generates() && h.writes(h.turns) }

// run computes stems and asks all questions after each.
func (h *batch) run(ctx context.Context, stems []stem) (out []gradesOf, err error) {
	if h.alone() {
		for _, s := range stems {
			out = append(out, h.silent(s))
		}
		if err := h.generated(ctx, stems, out); err != nil {
			return nil, err
		}
		return out, nil
	}
	var open []lm.Sequence
	defer func() {
		for _, s := range open {
			err = errors.Join(err, h.session.Drop(s))
		}
		if err != nil {
			out = nil
		}
	}()
	var steps []lm.Step
	for _, s := range stems {
		q, err := h.session.New()
		if err != nil {
			return nil, err
		}
		open = append(open, q)
		if len(s.tokens) > 0 && h.fits(len(s.tokens), 0) {
			steps = append(steps, lm.Step{Sequence: q, Tokens: s.tokens})
		}
		out = append(out, h.silent(s))
	}
	if err := h.extend(ctx, steps); err != nil {
		return nil, err
	}
	switch {
	case h.writes(h.turns):
		return out, h.wrote(ctx, stems, open, out)
	case h.labels != nil:
		return out, h.chosen(ctx, stems, open, out)
	}
	return out, h.written(ctx, stems, open, out)
}

// extend takes steps as few at once as the model allows.
func (h *batch) extend(ctx context.Context, steps []lm.Step) error {
	for len(steps) > 0 {
		n := len(steps)
		if limit := h.info.Sequences; limit > 0 {
			n = min(n, limit)
		}
		if _, err := h.session.Step(ctx, steps[:n]); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// spent is what the model has done in this batch.
func (h *batch) spent() lm.Usage {
	if h.session != nil {
		return h.session.Usage()
	}
	u := h.Model.Usage()
	return lm.Usage{
		Computed: u.Computed - h.before.Computed, Cached: u.Cached - h.before.Cached,
		Rows: u.Rows - h.before.Rows, Requests: u.Requests - h.before.Requests,
	}
}

// fits reports whether so many tokens fit the model after a stem.
func (h *batch) fits(stem, more int) bool {
	return h.info.Context <= 0 || stem+more <= h.info.Context
}

// question is a case after a stem.
type question struct {
	stem int
	// whole: its tokens do not resume from the stem, and are all that is asked.
	whole bool
	// turns are all that is asked, of a model that lays them out itself.
	turns []lm.Message
	layout
	item
}

// ask lays out a case after a stem.
func (h *batch) ask(ctx context.Context, stems []stem, at int, c item) (q question, err error) {
	s, q := stems[at], question{stem: at, layout: c.asked[stems[at].hint], item: c}
	chat, err := h.own(ctx, s, &q)
	if err != nil || chat == nil {
		return q, err
	}
	if h.generates() {
		if q.turns, err = chat.Asked(ctx, q.text); err != nil {
			return q, fmt.Errorf("lay out a record: %w", err)
		}
		return q, nil
	}
	if q.tokens, err = chat.Tokens(ctx, h.Model, q.text); err != nil {
		return q, fmt.Errorf("lay out a record: %w", err)
	}
	if n := len(s.tokens); len(q.tokens) > n && slices.Equal(q.tokens[:n], s.tokens) {
		q.tokens = q.tokens[n:]
	} else {
		q.whole = true
	}
	q.length += len(q.tokens)
	return q, nil
}

// passes hands out all questions after all stems, as many at once as a pass takes; where records
// are kept apart by record, those of one record, all at once. Those that do not fit are left
// out.
func (h *batch) passes(ctx context.Context, stems []stem, sequences int, do func([]question) error) error {
	var list []question
	total := 0
	flush := func() error {
		if len(list) == 0 {
			return nil
		}
		err := do(list)
		list, total = list[:0], 0
		if h.Usage != nil {
			h.Usage(h.spent())
		}
		return err
	}
	byRecord := h.Isolation.ByRecord()
	add := func(s int, c item) error {
		q, err := h.ask(ctx, stems, s, c)
		if err != nil {
			return err
		}
		before := len(stems[s].tokens)
		if q.whole {
			before = 0
		}
		if !h.fits(before, q.length) {
			return nil
		}
		if full := len(list) >= sequences || total+q.length > h.PassTokens && !byRecord; full && len(list) > 0 {
			if err := flush(); err != nil {
				return err
			}
		}
		list = append(list, q)
		total += q.length
		return nil
	}
	if byRecord {
		for _, c := range h.cases {
			for s := range stems {
				if err := add(s, c); err != nil {
					return err
				}
			}
			if err := flush(); err != nil { // the next record's questions are asked by themselves
				return err
			}
		}
		return nil
	}
	for s := range stems {
		for _, c := range h.cases {
			if err := add(s, c); err != nil {
				return err
			}
		}
	}
	return flush()
}

// sequencesOf is how many sequences a pass of so many tokens extends at most: with short
// questions too, it is the model that bounds speed.
func sequencesOf(passTokens int) int { return max(1, passTokens/16) }

// sequences is that, as far as the model takes so many.
func (h *batch) sequences() int {
	n := sequencesOf(h.PassTokens)
	if limit := h.info.Sequences; limit > 0 {
		n = min(n, limit)
	}
	return n
}

// chosen asks records about labels of a closed list.
func (h *batch) chosen(ctx context.Context, stems []stem, open []lm.Sequence, out []gradesOf) error {
	weights := make([][]float64, len(stems))
	for i, s := range stems {
		if !s.calibrates() {
			continue
		}
		var err error
		if weights[i], err = h.weights(ctx, open[i], len(s.tokens)); err != nil {
			return err
		}
	}
	return h.passes(ctx, stems, h.sequences(), func(list []question) error {
		asked := make([]labels.Prompt, len(list))
		for i, q := range list {
			asked[i] = labels.Prompt{From: open[q.stem], Tokens: q.tokens}
		}
		scores, err := h.scores(ctx, asked)
		if err != nil {
			return err
		}
		for i, q := range list {
			p := reply.Probabilities(scores[i])
			for r, grades := range out[q.stem] {
				grades[q.record] = h.label(r, p, weights[q.stem], q.item)
			}
		}
		return nil
	})
}

func (h *batch) scores(ctx context.Context, asked []labels.Prompt) ([][]float64, error) {
	return h.labels.Scores(ctx, h.session, asked, labels.Options{Can: h.info.Can, Sequences: h.sequences()})
}

// weights are what labels are calibrated by. No record is involved.
func (h *batch) weights(ctx context.Context, from lm.Sequence, length int) ([]float64, error) {
	var asked []labels.Prompt
	for _, tokens := range h.free {
		if h.fits(length, len(tokens)+h.labels.Depth()) {
			asked = append(asked, labels.Prompt{From: from, Tokens: tokens})
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	scores, err := h.scores(ctx, asked)
	if err != nil {
		return nil, err
	}
	for i := range scores {
		scores[i] = reply.Probabilities(scores[i])
	}
	return reply.Weights(scores), nil
}

// label is the grade on a prompt with which labels have these probabilities, read in a way, with the
// weights of calibration.
func (j *Grader) label(r reading, p, weights []float64, c item) int64 {
	if r.calibrated {
		if weights == nil {
			return 0 // questions without content do not fit the model
		}
		p = reply.Calibrated(p, weights)
	}
	if r.weight > 0 {
		p = reply.Combined(p, c.evidence, r.weight)
	}
	return j.grade(p, c.label)
}

// grade on a prompt with which labels have these probabilities in the end.
func (j *Grader) grade(p []float64, label int) int64 {
	if j.Utility == Soft {
		return fixed(p[label])
	}
	if reply.Best(p) == label {
		return One
	}
	return 0
}
