package llama

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/lm"
)

// occupiedRows is the number of tokens of a pass that only keeps processors at work: a layer
// of so few takes a millisecond or less, which is what a step may have to wait for.
const occupiedRows = 16

// errYield ends such a pass for a step.
var errYield = errors.New("a step goes first")

// yielding is the context of such a pass.
type yielding struct {
	context.Context
	model *Model
}

func (y yielding) Err() error {
	if y.model.waiting.Load() > 0 {
		return errYield
	}
	return y.Context.Err()
}

// acquire lets one step at a time have the threads.
func (m *Model) acquire() {
	m.waiting.Add(1)
	m.mu.Lock()
	m.waiting.Add(-1)
}

// Occupy implements [lm.Occupier].
func (m *Model) Occupy(ctx context.Context) {
	tokens := make([]lm.Token, min(occupiedRows, m.config.context))
	rows := make([]int32, len(tokens))
	for spins, drawn := 0, uint32(0); ctx.Err() == nil; {
		if m.waiting.Load() > 0 { // else whoever waits might not be the next
			rest(spins)
			spins++
			continue
		}
		spins = 0
		for i := range rows {
			drawn = drawn*1664525 + 1013904223
			rows[i] = int32(uint64(drawn>>4) % uint64(m.info.Vocabulary))
		}
		if !m.occupy(yielding{ctx, m}, tokens, rows) {
			return
		}
	}
}

// occupy computes a pass, or as much of it as there is time for. It is false if the model is
// closed.
func (m *Model) occupy(ctx context.Context, tokens []lm.Token, rows []int32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	if ctx.Err() != nil {
		return true
	}
	m.weights.turnTo(len(tokens))
	g := m.grow(&sequence{}, tokens, 0)
	defer m.cache.dropAll(g.fresh)
	// Nothing is kept of it, and all that can end it is its context.
	_ = m.pool.step(func() error {
		return m.pass.forward(ctx, rows, []span{{pages: g.pages, n: len(rows), read: 1, states: g.states}})
	})
	return true
}
