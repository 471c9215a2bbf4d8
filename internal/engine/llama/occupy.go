package llama

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/lm"
)

// occupiedRows is the number of tokens of a pass that only keeps processors at work: enough for
// the load of prompts that are read, few enough for a step not to wait long for the end of a layer.
const occupiedRows = 64

// errYield ends such a pass for a step.
var errYield = errors.New("a step goes first")

// yieldContext is the context of such a pass.
type yieldContext struct {
	context.Context
	model *Model
}

func (y yieldContext) Err() error {
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
	for spins := 0; ctx.Err() == nil; {
		if m.waiting.Load() > 0 { // else anyone who waits might not be the next
			rest(spins)
			spins++
			continue
		}
		spins = 0
		if !m.occupy(ctx) {
			return
		}
	}
}

// occupy computes passes until a step comes. It is false if the model is closed.
func (m *Model) occupy(ctx context.Context) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	ctx = yieldContext{ctx, m}
	if ctx.Err() != nil {
		return true
	}
	rows := make([]int32, min(occupiedRows, m.config.context))
	m.weights.turnTo(len(rows))
	g := m.grow(&sequence{}, make([]lm.Token, len(rows)), 0)
	defer m.cache.dropAll(g.fresh)
	// Nothing is kept of it, and all that can end it is its context.
	_ = m.pool.step(func() error {
		for drawn := uint32(0); ; {
			for i := range rows {
				drawn = drawn*1664525 + 1013904223
				rows[i] = int32(uint64(drawn>>4) % uint64(m.info.Vocabulary))
			}
			if err := m.pass.forward(ctx, rows, []span{{pages: g.pages, n: len(rows), read: 1, states: g.states}}); err != nil {
				return err
			}
		}
	})
	return true
}
