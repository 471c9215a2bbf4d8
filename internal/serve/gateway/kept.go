package gateway

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/internal/fault"
)

// kept holds answers that a client may ask for again without paying again: it sent a name for
// its request, as clients that try again by themselves do. Giving the same answer twice reveals
// nothing more. It is one of this process.
type kept struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*keeping
}

// keeping is an answer, or one in the making.
type keeping struct {
	question [sha256.Size]byte
	began    time.Time
	done     chan struct{} // closed when what follows is there
	said     *Said
	err      error
}

// An answer is kept for so long, and so many are; one takes no longer than that to write.
const (
	keepFor  = 10 * time.Minute
	mostKept = 4096
	longest  = 10 * time.Minute
)

// once answers a question. With a name, a second request of that name gets the answer of the
// first, also if that is still being written, or its client is gone.
func (p *Private) once(ctx context.Context, who, name, question string) (*Said, error) {
	if name == "" {
		return p.Answerer.Answer(ctx, who, question)
	}
	if len(name) > 255 {
		return nil, problem(http.StatusBadRequest, invalidRequest, "", "", "the Idempotency-Key is longer than 255 letters")
	}
	k, mine, err := p.kept.take(who, name, question)
	if err != nil {
		return nil, err
	}
	if mine {
		go func() {
			defer fault.Watch()
			defer close(k.done)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
			defer cancel()
			k.said, k.err = p.Answerer.Answer(ctx, who, question)
			if k.err != nil && k.said == nil {
				// What was not paid for may be asked for again; what was is not told apart
				// here, since the error says so each time.
				p.kept.forget(who, name, k.err)
			}
		}()
	}
	select {
	case <-k.done:
		return k.said, k.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// identify names a request of a client. Names of different clients are different requests.
func identify(who, name string) [sha256.Size]byte {
	return sha256.Sum256([]byte(who + "\x00" + name))
}

// take finds the request of a name, or makes it; mine says that the caller has to answer it.
func (k *kept) take(who, name, question string) (_ *keeping, mine bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id, sum := identify(who, name), sha256.Sum256([]byte(question))
	now := time.Now()
	for other, one := range k.all {
		if one.finished() && now.Sub(one.began) > keepFor {
			delete(k.all, other)
		}
	}
	if one := k.all[id]; one != nil {
		if one.question != sum {
			return nil, false, problem(http.StatusUnprocessableEntity, invalidRequest, "", "idempotency_key_in_use", "another question was asked with this Idempotency-Key: a new question takes a new one")
		}
		return one, false, nil
	}
	if len(k.all) >= mostKept {
		return nil, false, Unavailable("too many requests with an Idempotency-Key: try again in a few minutes, or leave it out")
	}
	if k.all == nil {
		k.all = map[[sha256.Size]byte]*keeping{}
	}
	one := &keeping{question: sum, began: now, done: make(chan struct{})}
	k.all[id] = one
	return one, true, nil
}

func (k *keeping) finished() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// forget lets a request that failed before it was paid for be made again.
func (k *kept) forget(who, name string, err error) {
	if e, is := err.(*Error); is && e.final {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, identify(who, name))
}
