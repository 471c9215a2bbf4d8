package remote

import (
	"context"
	"crypto/rand"
	"net"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/sotto-dp/sotto/internal/sys/machine"
	"github.com/sotto-dp/sotto/lm"
)

// watcher observes what a server is doing.
type watcher interface {
	look(ctx context.Context, c *Client) (snapshot, error)
	// quiet reports whether nothing but what was sent by us ran between two looks, the second
	// of which saw the server idle; more requests another look.
	quiet(before, after snapshot, ours workload) (quiet, more bool)
}

// sent is what we had the server compute: so many prompts, and so many tokens of theirs, read
// and written.
type workload struct{ prompts, tokens int64 }

// workOf is the work of so many prompts that were all answered, by what the server said of it.
func workOf(prompts int64, u lm.Usage) workload {
	return workload{prompts, u.Computed + prompts} // the last token of a text is written, not read
}

// snapshot is what a server reports about its work.
type snapshot struct {
	// busy is the number of requests that run or wait, ended what has ended, in what the
	// server counts: prompts, or tokens.
	busy  int
	ended int64
	// rest changes only when others use the server, or another one answers.
	rest string
}

// serverLocks are locks on servers, shared by all clients of this process: a request that has to
// be alone takes the whole lock of its server, any other a share.
var serverLocks struct {
	sync.Mutex
	of map[string]*semaphore.Weighted
}

const wholeLock = 1 << 30

func serverLock(base *url.URL) *semaphore.Weighted {
	host, port := strings.ToLower(base.Hostname()), base.Port()
	if machine.Loopback(host) {
		host = "localhost"
	}
	if port == "" {
		port = base.Scheme
	}
	key := net.JoinHostPort(host, port)
	serverLocks.Lock()
	defer serverLocks.Unlock()
	if serverLocks.of == nil {
		serverLocks.of = map[string]*semaphore.Weighted{}
	}
	if serverLocks.of[key] == nil {
		serverLocks.of[key] = semaphore.NewWeighted(wholeLock)
	}
	return serverLocks.of[key]
}

// salt returns the salt that separates the cache of a request. A request that has to be
// alone gets a fresh one, so that it finds nothing.
func (c *Client) salt(alone bool) string {
	if alone {
		return rand.Text()
	}
	return c.wire.options.CacheSalt
}

func lengths(prompts [][]lm.Token) int {
	n := 0
	for _, p := range prompts {
		n += len(p)
	}
	return n
}

var _ lm.SoloScorer = (*scorer)(nil)

// Solo implements [lm.SoloScorer]: the scorer that it returns sends one query after the
// other, each with a request of its own and without the server's cache. Meanwhile no client
// of this process sends anything else to the server.
func (s *scorer) Solo(ctx context.Context) (lm.Scorer, lm.Isolation, error) {
	watch, how, _, err := s.dialect.others(ctx, s.Client, false)
	if err != nil {
		return nil, "", err
	}
	if how == "" && s.wire.options.Exclusive {
		how = lm.Exclusive
	}
	if how == "" {
		return nil, "", s.unwatchedError("")
	}
	alone := *s
	alone.apart = &exclusion{client: s.Client, watch: watch, how: how}
	return &alone, how, nil
}

// unwatchedError says that nobody knows whether others use the server.
func (c *Client) unwatchedError(show string) error {
	return &lm.NotIsolatedError{
		Backend: c.info.Backend,
		Why:     "it does not show whether others use it at the same time, whose prompts would be computed together with the records'",
		Do:      show + "if nobody else uses it, declare it (exclusive = true beside trusted); else use the embedded engine",
	}
}

// answerAlone answers queries one after the other. Answers that others may have disturbed
// are discarded and requested again: that depends on the others, and the scores do not.
func (s *scorer) answerAlone(ctx context.Context, questions []scoreQuery) ([]answer, lm.Usage, error) {
	var usage lm.Usage
	var answers []answer
	err := s.apart.hold(ctx, func() (workload, error) {
		var spent lm.Usage
		var err error
		answers, spent, err = s.oneByOne(ctx, questions)
		usage = usage.Plus(spent)
		return workload{prompts: spent.Requests}, err
	})
	if err != nil {
		return nil, usage, err
	}
	return answers, usage, nil
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
			return nil, usage, s.cacheHitError("a request for scores")
		}
		answers[i] = got[0]
	}
	return answers, usage, nil
}

// cacheHitError says that the server used what it had computed before.
func (c *Client) cacheHitError(path string) error {
	return &ReplyError{Backend: c.info.Backend, Path: path, Why: "it used what it had computed before, although it was asked not to"}
}
