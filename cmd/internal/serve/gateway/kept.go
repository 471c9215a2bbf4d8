package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"
)

// answerCache holds answers that a client may ask for again without paying again: it sent a name for
// its request, as clients that try again by themselves do. Giving the same answer twice reveals
// nothing more. It is one of this process, for all versions of a route.
type answerCache struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*cachedAnswer
}

// cachedAnswer is an answer, or one in the making.
type cachedAnswer struct {
	question [sha256.Size]byte
	done     chan struct{} // closed when what follows is there
	ended    time.Time
	said     *PrivateAnswer
	err      error
}

// An answer is kept for so long after it was given, and so many are.
const (
	keepFor   = 10 * time.Minute
	maxCached = 4096
)

// once answers a question. With a name, a second request of that name gets the answer of the
// first, also if that is still being written, or its client is gone; first says whether it is
// the one that was answered.
func (h *Handler) once(ctx context.Context, route *Route, who, name, question string) (_ *PrivateAnswer, first bool, err error) {
	if name == "" {
		said, err := route.Private.answer(ctx, who, question)
		return said, true, err
	}
	if len(name) > 255 {
		return nil, true, problem(http.StatusBadRequest, invalidRequest, "", "", "the Idempotency-Key is longer than 255 letters")
	}
	id := sha256.Sum256([]byte(route.Name + "\x00" + who + "\x00" + name))
	k, first, err := h.kept.take(id, question)
	if err != nil {
		return nil, true, err
	}
	if first {
		defer h.kept.end(id, k)
		k.err = Charged("") // if this fails for an internal error
		k.said, k.err = route.Private.answer(context.WithoutCancel(ctx), who, question)
		return k.said, true, k.err
	}
	select {
	case <-k.done:
		return k.said, false, k.err
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// take finds the request of a name, or makes it; mine says that the caller has to answer it.
func (k *answerCache) take(id [sha256.Size]byte, question string) (_ *cachedAnswer, mine bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	sum, now := sha256.Sum256([]byte(question)), time.Now()
	for other, one := range k.all {
		if !one.ended.IsZero() && now.Sub(one.ended) > keepFor {
			delete(k.all, other)
		}
	}
	if one := k.all[id]; one != nil {
		if one.question != sum {
			return nil, false, problem(http.StatusUnprocessableEntity, invalidRequest, "", "idempotency_key_in_use", "another question was asked with this Idempotency-Key: a new question takes a new one")
		}
		return one, false, nil
	}
	if len(k.all) >= maxCached {
		return nil, false, Unavailable("too many requests with an Idempotency-Key: try again in a few minutes, or leave it out")
	}
	if k.all == nil {
		k.all = map[[sha256.Size]byte]*cachedAnswer{}
	}
	one := &cachedAnswer{question: sum, done: make(chan struct{})}
	k.all[id] = one
	return one, true, nil
}

// end hands an answer to all who wait for it. A request that failed before it was paid for can be
// made again.
func (k *answerCache) end(id [sha256.Size]byte, one *cachedAnswer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one.ended = time.Now()
	var e *Error
	if one.err != nil && !(errors.As(one.err, &e) && e.final) {
		delete(k.all, id)
	}
	close(one.done)
}
