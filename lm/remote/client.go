package remote

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/sys/machine"
	"github.com/sotto-dp/sotto/lm"
)

// Client is a model on a server. It generates text; see [Client.Scorer] for scores. It is
// safe for concurrent use.
type Client struct {
	wire    *wire
	dialect dialect
	facts   facts
	info    lm.Info

	mu    sync.Mutex
	usage lm.Usage
}

var _ lm.Model = (*Client)(nil)

// dialect speaks the protocol of one kind of server.
type dialect interface {
	name() Dialect
	// learn queries the server about itself and tries out what it can do.
	learn(ctx context.Context, c *Client) error
	// write completes one prompt. If onText is not nil, it receives the pieces of the text as
	// they come.
	write(ctx context.Context, c *Client, p lm.Prompt, o lm.GenerateOptions, as sendOptions, onText func(string) error) (lm.Text, lm.Usage, error)
	// embed turns texts into vectors of any length.
	embed(ctx context.Context, c *Client, texts []string) ([][]float32, error)
	isolation
}

// scoringDialect is a dialect that can score chosen tokens.
type scoringDialect interface {
	dialect
	// score answers queries, in their order.
	score(ctx context.Context, c *Client, questions []scoreQuery) ([]answer, lm.Usage, error)
	// vocabulary learns about the server's tokeniser.
	vocabulary(ctx context.Context, c *Client) (vocabulary, error)
	// sequences counts the prompts that the server computes for queries that are alone. Nothing at
	// all is taken from its cache for them, not even what was computed for the same prompt a token
	// ago. A cache separated by record would still be filled and emptied by what others store, and a
	// cached score differs from a computed one in its last digits: so a record would change others'
	// scores by evicting them.
	sequences(questions []scoreQuery) int64
	encoder
}

// facts hold what a server reported or showed besides its [lm.Info].
type facts struct {
	// tokens: prompts may be lists of tokens.
	tokens bool
	// renamed: max_tokens is called max_completion_tokens in chats.
	renamed bool
	// missing explains why there are no scores of chosen tokens, if there are none.
	missing string
	notes   []string
}

func (f *facts) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

// Dial connects to a server and detects its capabilities.
func Dial(ctx context.Context, o Options) (*Client, error) {
	base, err := o.check()
	if err != nil {
		return nil, err
	}
	key, err := o.Key.Read()
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	if o.Dialect == "" && onAzure(base) {
		o.Dialect = Azure
	}
	c := &Client{wire: newWire(o, base, key)}
	// Do not wait for a server that answers each of many questions just in time.
	limited, cancel := context.WithTimeout(ctx, attemptsTime*o.Timeout)
	defer cancel()
	if err := c.learn(limited); err != nil {
		c.wire.close()
		if limited.Err() != nil && ctx.Err() == nil {
			err = &ConnectionError{Backend: c.wire.backend, Path: "all questions about what it can do", Why: "it took too long", Err: os.ErrDeadlineExceeded}
		}
		return nil, err
	}
	return c, nil
}

// learn fills in what is known about the server.
func (c *Client) learn(ctx context.Context) error {
	o := c.wire.options
	kind := o.Dialect
	if kind == "" {
		var err error
		if kind, err = c.guess(ctx); err != nil {
			return err
		}
	}
	c.dialect = dialectOf(kind)
	c.wire.backend, c.info.Backend = string(kind), string(kind)
	if err := c.dialect.learn(ctx, c); err != nil {
		return err
	}
	if err := c.bound(); err != nil {
		return err
	}
	if c.wire.base.Scheme == "http" && !machine.Loopback(c.wire.base.Hostname()) {
		c.facts.note("the connection is not encrypted: anyone who is on the way can read prompts")
	}
	if o.Context > 0 && (c.info.Context == 0 || o.Context < c.info.Context) {
		c.info.Context = o.Context
	}
	c.info.Tolerance = cmp.Or(o.Tolerance, defaultTolerance)
	return nil
}

// defaultTolerance is about twice the largest difference seen between log-probabilities of
// the same sequence in different calls, alone and in a batch or computed and cached: 0.4
// with bfloat16 on vLLM, 0.56 with a Q4_1 file on llama.cpp. Servers do not report their
// precision.
const defaultTolerance = 1

// Info describes the model and what its server promises.
func (c *Client) Info() lm.Info { return c.info }

// Usage returns the cost of all calls so far.
func (c *Client) Usage() lm.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.usage
}

func (c *Client) spend(u lm.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usage = c.usage.Plus(u)
}

// Close ends all requests and closes the connections, and with them all scorers, embedders
// and sessions of the client.
func (c *Client) Close() error {
	c.wire.close()
	return nil
}

// Generate completes each prompt with a request of its own, several at a time.
//
// Where a server does not report whether a stop string or the model ended a text, the
// text's Finish is FinishEnd.
func (c *Client) Generate(ctx context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if err := c.wire.over(ctx); err != nil {
		return nil, err
	}
	for i, p := range prompts {
		if err := c.checkPrompt(i, p, o); err != nil {
			return nil, err
		}
	}
	texts := make([]lm.Text, len(prompts))
	var mu sync.Mutex // one piece of text at a time
	err := each(ctx, c.wire.options.Concurrency, len(prompts), func(ctx context.Context, i int) error {
		var onText func(string) error
		if o.OnText != nil {
			onText = func(piece string) error {
				mu.Lock()
				defer mu.Unlock()
				if err := ctx.Err(); err != nil {
					return err // another prompt failed: pass on no more text
				}
				return o.OnText(i, piece)
			}
		}
		own := o
		own.Seed = mix(o.Seed, i)
		text, usage, err := c.dialect.write(ctx, c, prompts[i], own, sendOptions{}, onText)
		c.spend(usage)
		texts[i] = text
		return err
	})
	if err != nil {
		return nil, err
	}
	return texts, nil
}

// checkPrompt reports what is wrong with a prompt before anything is sent.
func (c *Client) checkPrompt(i int, p lm.Prompt, o lm.GenerateOptions) error {
	set := 0
	for _, is := range []bool{p.Tokens != nil, p.Text != "", p.Messages != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1 || p.Tokens != nil && len(p.Tokens) == 0 || p.Messages != nil && len(p.Messages) == 0:
		return fmt.Errorf("prompt %d: a prompt is either tokens, or a text, or messages, and not empty", i)
	case p.Tokens != nil && !c.facts.tokens:
		return &lm.UnsupportedError{Backend: c.info.Backend, What: "complete a list of tokens", Missing: "it takes text and messages only"}
	case p.Text != "" && !c.info.Can.Generate:
		return &lm.UnsupportedError{Backend: c.info.Backend, What: "complete plain text", Missing: "it takes messages only"}
	case p.Messages != nil && !c.info.Can.Chat:
		return &lm.UnsupportedError{Backend: c.info.Backend, What: "answer messages", Missing: "the model has no chat template; give plain text"}
	}
	if limit := c.info.Context; limit > 0 && len(p.Tokens)+o.MaxTokens > limit {
		return &lm.ContextError{Step: i, Have: len(p.Tokens), Adding: o.MaxTokens, Limit: limit}
	}
	return nil
}

// mix derives a seed of 31 bits, which every server accepts, for each prompt.
func mix(seed uint64, i int) uint64 {
	x := seed + 0x9e3779b97f4a7c15*uint64(i+1)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return (x ^ x>>31) & 0x7fffffff
}

// each runs f for 0 … n-1, some at a time, until one fails. It returns the first
// failure after all have ended.
func each(ctx context.Context, limit, n int, f func(context.Context, int) error) error {
	if n == 1 {
		return f(ctx, 0)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := 0; i < n && groupCtx.Err() == nil; i++ {
		group.Go(func() error {
			defer fault.Watch()
			return f(groupCtx, i)
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("waiting for the server: %w", ctx.Err())
	}
	return err
}
