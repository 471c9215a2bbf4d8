package llama

import (
	"context"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// sequence is a path through the tree of pages.
type sequence struct {
	pages  []*page
	length int
	// hidden is the state after the last token, ready for the head. Forks share it:
	// it is never written after it was made.
	hidden []float32
}

// session implements [lm.Session].
type session struct {
	model     *Model
	sequences map[lm.Sequence]*sequence
	last      lm.Sequence
	usage     lm.Usage
	closed    bool
}

// Open starts a session.
func (m *Model) Open(ctx context.Context) (lm.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.acquire()
	defer m.mu.Unlock()
	if m.closed {
		return nil, lm.ErrClosed
	}
	return &session{model: m, sequences: map[lm.Sequence]*sequence{}}, nil
}

func (s *session) add(q *sequence) lm.Sequence {
	s.last++
	s.sequences[s.last] = q
	return s.last
}

func (s *session) find(id lm.Sequence) (*sequence, error) {
	if s.closed {
		return nil, lm.ErrClosed
	}
	q, ok := s.sequences[id]
	if !ok {
		return nil, lm.ErrUnknownSequence
	}
	return q, nil
}

func (s *session) New() (lm.Sequence, error) {
	if s.closed {
		return 0, lm.ErrClosed
	}
	return s.add(&sequence{}), nil
}

func (s *session) Fork(id lm.Sequence) (lm.Sequence, error) {
	q, err := s.find(id)
	if err != nil {
		return 0, err
	}
	fork := &sequence{pages: slices.Clone(q.pages), length: q.length, hidden: q.hidden}
	for _, p := range fork.pages {
		p.refs.Add(1)
	}
	s.usage.Cached += int64(q.length)
	s.model.cached.Add(int64(q.length))
	return s.add(fork), nil
}

func (s *session) Drop(id lm.Sequence) error {
	q, err := s.find(id)
	if err != nil {
		return err
	}
	s.model.cache.dropAll(q.pages)
	delete(s.sequences, id)
	return nil
}

func (s *session) Len(id lm.Sequence) (int, error) {
	q, err := s.find(id)
	if err != nil {
		return 0, err
	}
	return q.length, nil
}

func (s *session) Usage() lm.Usage { return s.usage }

func (s *session) Close() error {
	if s.closed {
		return nil
	}
	for _, q := range s.sequences {
		s.model.cache.dropAll(q.pages)
	}
	s.closed, s.sequences = true, nil
	return nil
}

// extension describes a sequence after its step, if that succeeds.
type extension struct {
	of     *sequence
	tokens []lm.Token
	pages  []*page
	fresh  []*page // those that the sequence does not hold yet
	hidden []float32
	// states are those that the given tokens come after, and then the last.
	states []float32
}

// grow prepares the pages for more tokens, of which the last ones are given. The sequence
// itself stays as it is.
func (m *Model) grow(q *sequence, tokens []lm.Token, given int) *extension {
	g := &extension{of: q, tokens: tokens, pages: slices.Clone(q.pages), hidden: q.hidden}
	if len(tokens) == 0 {
		return g
	}
	g.hidden = make([]float32, m.config.width)
	g.states = g.hidden
	if given > 0 {
		g.states = make([]float32, (given+1)*m.config.width)
	}
	if last := len(g.pages) - 1; q.length%pageLen != 0 && g.pages[last].refs.Load() > 1 {
		g.pages[last] = m.cache.copyOf(g.pages[last])
		g.fresh = append(g.fresh, g.pages[last])
	}
	for len(g.pages)*pageLen < q.length+len(tokens) {
		p := m.cache.take()
		g.pages, g.fresh = append(g.pages, p), append(g.fresh, p)
	}
	return g
}

// commit puts what was prepared into the sequence.
func (m *Model) commit(g *extension) {
	for i, p := range g.of.pages {
		if g.pages[i] != p {
			m.cache.drop(p)
		}
	}
	g.of.pages, g.of.hidden = g.pages, g.hidden
	g.of.length += len(g.tokens)
}

func (s *session) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	if s.closed {
		return nil, lm.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := s.model
	if err := lm.CheckSteps(m.info, steps, func(id lm.Sequence) (int, bool) {
		q, ok := s.sequences[id]
		if !ok {
			return 0, false
		}
		return q.length, true
	}); err != nil {
		return nil, err
	}
	m.acquire()
	defer m.mu.Unlock()
	if m.closed {
		return nil, lm.ErrClosed
	}
	all := make([]*extension, len(steps))
	for i, step := range steps {
		m.weights.turnTo(s.sequences[step.Sequence].length + len(step.Tokens))
		all[i] = m.grow(s.sequences[step.Sequence], step.Tokens, step.Ask.Given)
	}
	var scores []lm.Scores
	var computed, rows int
	err := m.pool.step(func() (err error) {
		if computed, err = m.extend(ctx, all); err != nil {
			return err
		}
		scores, rows, err = m.answer(ctx, steps, all)
		return err
	})
	if err != nil {
		for _, g := range all {
			m.cache.dropAll(g.fresh)
		}
		return nil, err
	}
	for _, g := range all {
		m.commit(g)
	}
	s.usage = s.usage.Plus(lm.Usage{Computed: int64(computed), Rows: int64(rows)})
	m.computed.Add(int64(computed))
	m.rows.Add(int64(rows))
	return scores, nil
}

// extend sends the new tokens of all sequences through the model, as many at once
// as a pass takes.
func (m *Model) extend(ctx context.Context, all []*extension) (int, error) {
	total := 0
	tokens := make([]int32, 0, maxRows)
	d := m.config.width
	var spans []span
	flush := func() error {
		if len(tokens) == 0 {
			return nil
		}
		err := m.pass.forward(ctx, tokens, spans)
		total += len(tokens)
		tokens, spans = tokens[:0], spans[:0]
		return err
	}
	for _, g := range all {
		for done := 0; done < len(g.tokens); {
			n := min(len(g.tokens)-done, maxRows-len(tokens))
			s := span{pages: g.pages, from: len(tokens), n: n, start: g.of.length + done}
			for _, t := range g.tokens[done : done+n] {
				tokens = append(tokens, int32(t))
			}
			done += n
			// The rows that are read are the sequence's last: those of a span are its last.
			first := len(g.tokens) - len(g.states)/d
			if s.read = max(0, min(n, done-first)); s.read > 0 {
				s.states = g.states[(done-s.read-first)*d : (done-first)*d]
			}
			spans = append(spans, s)
			if len(tokens) == maxRows {
				if err := flush(); err != nil {
					return total, err
				}
			}
		}
	}
	if err := flush(); err != nil {
		return total, err
	}
	for _, g := range all {
		// The sequence keeps its last state alone.
		copy(g.hidden, g.states[max(0, len(g.states)-d):])
	}
	return total, nil
}
