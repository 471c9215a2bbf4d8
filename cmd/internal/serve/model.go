package serve

import (
	"context"
	"sync"

	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
)

// lazy is opened by the first that needs it, and again only if that failed.
type lazy[T any] struct {
	mu     sync.Mutex
	opened *T
}

func (l *lazy[T]) get(open func() (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		v, err := open()
		if err != nil {
			return v, err
		}
		l.opened = &v
	}
	return *l.opened, nil
}

// lazily opens something once.
func lazily[T any](open func() (T, error)) func() (T, error) {
	var l lazy[T]
	return func() (T, error) { return l.get(open) }
}

// Model is the model of a process, which is opened when it is first used.
type Model struct {
	Spec backend.Spec
	// Turns are for all that compute with it.
	Turns gateway.Turns

	trusted lazy[lm.TrustedScorer]
	public  lazy[lm.Model]
}

// Trusted opens it for private records.
func (m *Model) Trusted(ctx context.Context) (lm.TrustedScorer, error) {
	return m.trusted.get(func() (lm.TrustedScorer, error) { return backend.Trusted(ctx, m.Spec) })
}

// Open opens it for what is released.
func (m *Model) Open(ctx context.Context) (lm.Model, error) {
	if m.Spec.Remote() && !m.Spec.Trusted {
		return m.public.get(func() (lm.Model, error) { return backend.Open(ctx, m.Spec) })
	}
	t, err := m.Trusted(ctx)
	if err != nil {
		return nil, err
	}
	return t.Public(), nil
}
