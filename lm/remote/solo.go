package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/sotto-dp/sotto/internal/machine"
	"github.com/sotto-dp/sotto/lm"
)

// soloing is a dialect that can answer a query alone: with a request of its own that reuses
// nothing computed before.
//
// Nothing at all is taken from the server's cache, not even what was computed for the same
// prompt a token ago. A cache separated by record would still be filled and emptied by what
// others store, and a cached score differs from a computed one in its last digits: so a
// record would change others' scores by evicting them.
type soloing interface {
	scoring
	// others determines how it can be known that nobody else's sequences run beside ours.
	// The watcher is nil where none is needed, or none exists.
	others(ctx context.Context, c *Client) (watcher, lm.Isolation, error)
}

// watcher observes what a server is doing.
type watcher interface {
	look(ctx context.Context, c *Client) (sight, error)
	// quiet reports whether nothing but our sent requests ran between two looks, the second
	// of which saw the server idle; more requests another look.
	quiet(before, after sight, sent int64) (quiet, more bool)
}

// sight is what a server reports about its work.
type sight struct {
	// busy is the number of requests that run or wait, ended the number that have ended,
	// where the server counts.
	busy  int
	ended int64
	// rest changes only when others use the server, or another one answers.
	rest string
}

// crowds are locks on servers, shared by all clients of this process: a request that has to
// be alone takes the whole lock of its server, any other a share.
var crowds struct {
	sync.Mutex
	of map[string]*semaphore.Weighted
}

const everybody = 1 << 30

// crowd returns the lock of a server.
func crowd(base *url.URL) *semaphore.Weighted {
	host, port := strings.ToLower(base.Hostname()), base.Port()
	if machine.Loopback(host) {
		host = "localhost"
	}
	if port == "" {
		port = base.Scheme
	}
	key := net.JoinHostPort(host, port)
	crowds.Lock()
	defer crowds.Unlock()
	if crowds.of == nil {
		crowds.of = map[string]*semaphore.Weighted{}
	}
	if crowds.of[key] == nil {
		crowds.of[key] = semaphore.NewWeighted(everybody)
	}
	return crowds.of[key]
}

// salt returns the salt that separates the cache of a request. A request that has to be
// alone gets a fresh one, so that it finds nothing.
func (c *Client) salt(alone bool) string {
	if alone {
		return rand.Text()
	}
	return c.wire.options.CacheSalt
}

// lengths sums the tokens of prompts.
func lengths(prompts [][]lm.Token) int {
	n := 0
	for _, p := range prompts {
		n += len(p)
	}
	return n
}

// solo holds how a scorer ensures that a prompt is alone.
type solo struct {
	watch watcher
	how   lm.Isolation
}

var _ lm.SoloScorer = (*scorer)(nil)

// Solo implements [lm.SoloScorer]: the scorer that it returns sends one query after the
// other, each with a request of its own and without the server's cache. Meanwhile no client
// of this process sends anything else to the server.
func (s *scorer) Solo(ctx context.Context) (lm.Scorer, lm.Isolation, error) {
	d, can := s.dialect.(soloing)
	if !can {
		return nil, "", &lm.NotIsolatedError{Backend: s.info.Backend, Why: "it cannot score prompts one by one", Do: "use vLLM, llama.cpp's server, SGLang or the embedded engine"}
	}
	watch, how, err := d.others(ctx, s.Client)
	if err != nil {
		return nil, "", err
	}
	if how == "" && s.wire.options.Exclusive {
		how = lm.Exclusive
	}
	if how == "" {
		return nil, "", &lm.NotIsolatedError{
			Backend: s.info.Backend,
			Why:     "it does not show whether others use it at the same time, whose prompts would be computed together with the records'",
			Do:      "if nobody else uses it, declare it (exclusive = true beside trusted); else use the embedded engine",
		}
	}
	alone := *s
	alone.solo = &solo{watch, how}
	return &alone, how, nil
}

const (
	// soloTries is the number of times that a disturbed step is repeated.
	soloTries = 5
	// soloPatience times the first backoff is the maximal wait for an idle server.
	soloPatience = 120
)

// answerAlone answers queries one after the other. Answers that others may have disturbed
// are discarded and requested again: that depends on the others, and the scores do not.
func (s *scorer) answerAlone(ctx context.Context, questions []scoreQuery) ([]answer, lm.Usage, error) {
	var usage lm.Usage
	lock := crowd(s.wire.base)
	if err := lock.Acquire(ctx, everybody); err != nil {
		return nil, usage, fmt.Errorf("waiting for the server: %w", err)
	}
	defer lock.Release(everybody)
	for try := 1; ; try++ {
		before, err := s.settle(ctx)
		if err != nil {
			return nil, usage, err
		}
		answers, spent, err := s.oneByOne(ctx, questions)
		usage = usage.Plus(spent)
		switch {
		case err == nil:
			quiet, err := s.undisturbed(ctx, before, spent.Requests)
			if quiet || err != nil {
				return answers, usage, err
			}
			if try == soloTries {
				return nil, usage, s.crowded()
			}
		case try > s.wire.options.Retries || !s.solo.again(err):
			return nil, usage, err
		}
		if err := s.wire.pause(ctx, try, 0); err != nil {
			return nil, usage, err
		}
	}
}

// again reports whether a failed request may be sent once more. Where the server may still
// work on the first one, both might run side by side.
func (o *solo) again(err error) bool {
	if o.watch == nil && o.how != lm.OneSequence {
		return false
	}
	var refused *StatusError
	var broken *ConnectionError
	return errors.As(err, &refused) && passing(refused.Status) || errors.As(err, &broken)
}

// crowded: others would not stop.
func (s *scorer) crowded() error {
	return &lm.NotIsolatedError{
		Backend: s.info.Backend, Why: "others use the server while records are scored, or several servers answer at its address",
		Do: "keep others away until the run ends, name one server and not a balancer of several (or have it hide their counters and declare exclusive = true), and go on by the same call",
	}
}

func (s *scorer) oneByOne(ctx context.Context, questions []scoreQuery) ([]answer, lm.Usage, error) {
	var usage lm.Usage
	answers := make([]answer, len(questions))
	for i, q := range questions {
		q.alone = true
		got, spent, err := s.dialect.score(ctx, s.Client, []scoreQuery{q})
		usage = usage.Plus(spent)
		if err != nil {
			return nil, usage, err
		}
		if spent.Cached > 0 {
			return nil, usage, &ReplyError{Backend: s.info.Backend, Path: "a request for scores", Why: "it used what it had computed before, although it was asked not to"}
		}
		answers[i] = got[0]
	}
	return answers, usage, nil
}

// settle waits until the server is idle, and returns its state then.
func (s *scorer) settle(ctx context.Context) (sight, error) {
	if s.solo.watch == nil {
		return sight{}, nil
	}
	for try := 0; ; try++ {
		seen, err := s.solo.watch.look(ctx, s.Client)
		if err != nil || seen.busy == 0 {
			return seen, err
		}
		if try == soloPatience {
			return seen, s.crowded()
		}
		if err := s.wire.sleep(ctx, s.wire.options.Backoff); err != nil {
			return seen, err
		}
	}
}

// undisturbed reports whether the server saw nothing but our requests since a look. It
// looks again for a while where the server has not counted the last of them yet.
func (s *scorer) undisturbed(ctx context.Context, before sight, sent int64) (bool, error) {
	if s.solo.watch == nil {
		return true, nil
	}
	const looks = 40
	for look := 1; ; look++ {
		after, err := s.solo.watch.look(ctx, s.Client)
		if err != nil {
			return false, err
		}
		quiet, more := s.solo.watch.quiet(before, after, sent)
		if !more || look == looks {
			return quiet, nil
		}
		if err := s.wire.sleep(ctx, min(s.wire.options.Backoff, 10*time.Millisecond)); err != nil {
			return false, err
		}
	}
}
