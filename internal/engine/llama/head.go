package llama

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/engine/kernel"
	"github.com/sotto-dp/sotto/lm"
)

func (w *weights) bytes() int64 {
	total := int64(w.headAll.Bytes())
	for i := range w.layers {
		l := &w.layers[i]
		for _, m := range []*kernel.Matrix{l.query, l.key, l.value, l.output, l.gate, l.up, l.down} {
			total += int64(m.Bytes())
		}
	}
	return total
}

// answer evaluates the head for what the steps ask, and no more of it.
func (m *Model) answer(ctx context.Context, steps []lm.Step, all []*extension) ([]lm.Scores, int, error) {
	scores := make([]lm.Scores, len(steps))
	rows := 0
	var whole []position // that need every row
	groups := map[int][]int{}
	var lists [][]lm.Token
	for i, s := range steps {
		switch {
		case s.Ask.IsZero():
		case s.Ask.Given > 0:
			given := s.Tokens[len(s.Tokens)-s.Ask.Given:]
			scores[i] = lm.Scores{Tokens: slices.Clone(given), LogProbs: make([]float64, len(given)), Best: make([]lm.Token, len(given))}
			for j := range given {
				whole = append(whole, position{i, j})
			}
		case s.Ask.Candidates == nil:
			whole = append(whole, position{i, 0})
		default:
			at := slices.IndexFunc(lists, func(l []lm.Token) bool { return slices.Equal(l, s.Ask.Candidates) })
			if at < 0 {
				at = len(lists)
				lists = append(lists, s.Ask.Candidates)
			}
			groups[at] = append(groups[at], i)
		}
	}
	for len(whole) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		n := min(len(whole), wholeRows)
		rows += m.answerWhole(steps, all, whole[:n], scores)
		whole = whole[n:]
	}
	for at, list := range lists {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		n, err := m.answerCandidates(all, groups[at], list, scores)
		if err != nil {
			return nil, 0, err
		}
		rows += n
	}
	return scores, rows, m.sound(steps, all, scores)
}

// sound finds states and scores that are not numbers, which weights that are none, or far
// too large, make: whatever is chosen by them would look like a result.
func (m *Model) sound(steps []lm.Step, all []*extension, scores []lm.Scores) error {
	none := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
	for i, s := range steps {
		if s.Ask.IsZero() {
			continue
		}
		states := all[i].hidden
		if s.Ask.Given > 0 {
			states = all[i].states
		}
		if slices.ContainsFunc(states, func(x float32) bool { return none(float64(x)) }) || slices.ContainsFunc(scores[i].LogProbs, math.IsNaN) {
			return &lm.UnsoundError{Backend: "the embedded engine", Why: "what it computes is not a number (NaN)"}
		}
	}
	return nil
}

// wholeRows bounds the memory of logits over the vocabulary.
const wholeRows = 16

// position names the step that a row of logits is for, and which of its given tokens if it
// has any.
type position struct{ step, given int }

// state returns what the head reads for a position.
func (m *Model) state(steps []lm.Step, all []*extension, at position) []float32 {
	if d := m.config.width; steps[at.step].Ask.Given > 0 {
		return all[at.step].states[at.given*d:][:d]
	}
	return all[at.step].hidden
}

// answerWhole computes the logits of every token for some positions.
func (m *Model) answerWhole(steps []lm.Step, all []*extension, which []position, scores []lm.Scores) int {
	head := m.weights.headAll
	d, vocab := m.config.width, m.info.Vocabulary
	x := m.pass.head
	for r, at := range which {
		copy(x.row(r, d), m.state(steps, all, at))
		x.quantize(m.kernels, r, 0, x.row(r, d))
	}
	panels := head.Panels()
	stride := panels * kernel.Panel
	logits := m.logits(len(which) * stride)
	m.pool.each(panels, 8, func(worker, from, to int) {
		m.pass.mul(worker, head, from, to, x, len(which), logits, stride)
	})
	m.pool.each(len(which), 1, func(_, from, to int) {
		for r := from; r < to; r++ {
			at := which[r]
			m.readRow(logits[r*stride:][:vocab], steps[at.step].Ask, at.given, &scores[at.step])
		}
	})
	return len(which) * vocab
}

// readRow answers an ask, or its part about one given token, from the logits of the whole
// vocabulary.
func (m *Model) readRow(row []float32, ask lm.Ask, given int, out *lm.Scores) {
	log := m.kernels.LogSumExp(row)
	switch {
	case ask.Given > 0:
		out.LogProbs[given] = min(float64(row[out.Tokens[given]])-log, 0)
		out.Best[given] = best(row)
	case ask.All:
		out.LogProbs = make([]float64, len(row))
		for t, x := range row {
			out.LogProbs[t] = min(float64(x)-log, 0)
		}
	default:
		out.Tokens = lm.Best(row, ask.Top)
		out.LogProbs = make([]float64, len(out.Tokens))
		for j, t := range out.Tokens {
			out.LogProbs[j] = min(float64(row[t])-log, 0)
		}
	}
}

// best returns the token of the largest logit, of equal ones the lowest.
func best(row []float32) lm.Token {
	top := 0
	for t, x := range row {
		if x > row[top] {
			top = t
		}
	}
	return lm.Token(top)
}

// logits returns room for n numbers, which it keeps for the next step.
func (m *Model) logits(n int) []float32 {
	if len(m.pass.logits) < n {
		m.pass.logits = make([]float32, n)
	}
	return m.pass.logits[:n]
}

// candidateRows are rows of the head that belong to candidates: what workers share while they
// multiply by them.
type candidateRows struct {
	list   []lm.Token
	x      inputs // states, for some steps
	n      int
	logits []float32
	stride int
	matrix []kernel.Matrix // per worker
	errs   []error         // per worker
}

// answerCandidates computes the logits of a list of tokens for some steps, a panel of
// the head's rows at a time, so that each logit is the same chain as in answerWhole.
func (m *Model) answerCandidates(all []*extension, which []int, list []lm.Token, scores []lm.Scores) (int, error) {
	d, k := m.config.width, &m.pass.candidates
	k.list, k.n = list, len(which)
	if k.n*padded(d) > len(k.x.floats) {
		k.x = m.newInputs(k.n, d)
	}
	for r, i := range which {
		copy(k.x.row(r, d), all[i].hidden)
		k.x.quantize(m.kernels, r, 0, k.x.row(r, d))
	}
	k.stride = padded(len(list))
	if need := k.n * k.stride; len(k.logits) < need {
		k.logits = make([]float32, need)
	}
	clear(k.errs)
	m.pool.each(k.stride/kernel.Panel, 1, m.pass.tasks.candidates)
	if err := errors.Join(k.errs...); err != nil {
		return 0, err
	}
	for r, i := range which {
		scores[i] = lm.Scores{Tokens: slices.Clone(list), LogProbs: lm.LogSoftmax(k.logits[r*k.stride:][:len(list)])}
	}
	return k.n * len(list), nil
}

func (p *pass) candidateShare(worker, from, to int) {
	k, head, d := &p.candidates, p.weights.head, p.config.width
	size, err := kernel.RowBytes(head.Type, d)
	if err != nil {
		k.errs[worker] = err
		return
	}
	var rows [kernel.Panel][]byte
	for panel := from; panel < to; panel++ {
		few := k.list[panel*kernel.Panel : min((panel+1)*kernel.Panel, len(k.list))]
		for j, t := range few {
			rows[j] = head.Data[int(t)*size : (int(t)+1)*size]
		}
		if err := k.matrix[worker].PackRows(head.Type, d, rows[:len(few)]); err != nil {
			k.errs[worker] = err
			return
		}
		p.mul(worker, &k.matrix[worker], 0, 1, k.x, k.n, k.logits[panel*kernel.Panel:], k.stride)
	}
}
