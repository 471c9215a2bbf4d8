package serve

import (
	"context"
	"sync"

	"github.com/sotto-dp/sotto/lm"
)

// load keeps this machine's processors at work while a private answer is under way, with what the
// answer itself computes: how fast others' requests are served shows nothing of how far it is.
// Where the answer computes, load makes room.
type load struct {
	// fill computes until its context ends. A step of the same model goes before it.
	fill func(context.Context)

	mu   sync.Mutex
	stop func() // what fills now, and wait for its end
	// others is how many calls compute something else instead.
	others int
	free   chan struct{} // closed when there is none
}

// newLoad is for an answer that uses a model, and an encoder if that is valid. It is nil if
// neither computes on this machine.
func newLoad(model lm.TrustedScorer, encoder lm.TrustedEmbedder) *load {
	if fill := model.Occupy(); fill != nil {
		return &load{fill: fill}
	}
	if !encoder.Valid() {
		return nil
	}
	// About as many words as answers have, and as many answers as are compared.
	const sentence = "the quick brown fox jumps over the lazy dog and then it sleeps until the morning"
	texts := make([]string, 64)
	for i := range texts {
		texts[i] = sentence
	}
	return &load{fill: func(ctx context.Context) {
		for ctx.Err() == nil {
			if _, err := encoder.Embed(ctx, texts); err != nil {
				return
			}
		}
	}}
}

// occupy fills until the context ends, except while something else computes.
func (l *load) occupy(ctx context.Context) {
	for ctx.Err() == nil {
		l.mu.Lock()
		if l.others > 0 {
			free := l.free
			l.mu.Unlock()
			select {
			case <-free:
			case <-ctx.Done():
			}
			continue
		}
		filling, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		l.stop = func() {
			stop()
			<-ended
		}
		l.mu.Unlock()
		l.fill(filling)
		close(ended)
		// A fill that ended by itself has failed, and would again.
		failed := filling.Err() == nil
		stop()
		l.mu.Lock()
		l.stop = nil
		l.mu.Unlock()
		if failed {
			return
		}
	}
}

// instead computes something while nothing is filled.
func (l *load) instead(compute func()) {
	l.mu.Lock()
	if l.others++; l.others == 1 {
		l.free = make(chan struct{})
	}
	stop := l.stop
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.others--; l.others == 0 {
			close(l.free)
		}
	}()
	compute()
}
