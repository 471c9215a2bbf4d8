package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/lm"
)

// isolation is what a dialect does to have the prompts of one record, or one prompt alone, computed
// beside nothing else.
type isolation interface {
	// others determines how it can be known that nobody else's sequences run beside ours, which are
	// all of one record or a single one, and what to do where it cannot. The watcher is nil where none
	// is needed, or none exists.
	others(ctx context.Context, c *Client, record bool) (w watcher, how lm.Isolation, do string, err error)
	// forget has the server drop what it holds of earlier prompts and cannot be told to leave
	// alone in a request; nil where a request can.
	forget(c *Client) func(context.Context) error
}

// recordPrompts bounds the prompts of a record that are sent at a time.
const recordPrompts = 64

// byRecord determines how the prompts of a record are kept apart from others'.
func (c *Client) byRecord(ctx context.Context) (*exclusion, error) {
	watch, how, do, err := c.dialect.others(ctx, c, true)
	if err != nil {
		return nil, err
	}
	switch {
	case how == lm.Watched:
		how = lm.RecordsWatched
	case how == lm.OneSequence:
		how = lm.RecordsOneSequence
	case c.wire.options.Exclusive:
		how = lm.RecordsExclusive
	default:
		return nil, c.unwatchedError(do)
	}
	return &exclusion{client: c, watch: watch, how: how, forget: c.dialect.forget(c)}, nil
}

var _ lm.RecordScorer = (*scorer)(nil)

// ByRecord implements [lm.RecordScorer]: the scorer that it returns sends what one call asks at
// once, and nothing else meanwhile, without what the server has cached for other calls.
func (s *scorer) ByRecord(ctx context.Context) (lm.Scorer, lm.Isolation, error) {
	apart, err := s.byRecord(ctx)
	if err != nil {
		return nil, "", err
	}
	by := *s
	by.apart = apart
	return &by, apart.how, nil
}

// answerTogether answers all queries of a step, which are of one record, at once.
func (s *scorer) answerTogether(ctx context.Context, questions []scoreQuery) ([]answer, lm.Usage, error) {
	questions = slices.Clone(questions)
	prompts := make([]lm.Prompt, len(questions))
	for i := range questions {
		questions[i].alone, questions[i].slot = true, i
		prompts[i].Tokens = questions[i].tokens
	}
	var usage lm.Usage
	var answers []answer
	err := s.apart.hold(ctx, func() (workload, error) {
		var spent lm.Usage
		var err error
		answers, spent, err = s.dialect.score(ctx, s.Client, questions)
		usage = usage.Plus(spent)
		if err == nil && spent.Cached > common(prompts)*max(1, spent.Requests) {
			err = s.cacheHitError("a request for scores")
		}
		ours := workOf(spent.Requests, spent)
		ours.prompts = s.dialect.sequences(questions)
		return ours, err
	})
	if err != nil {
		return nil, usage, err
	}
	return answers, usage, nil
}

// sendOptions says how a request for text is sent.
type sendOptions struct {
	// alone: the caller holds the server's whole lock. The request is sent once.
	alone bool
	// salt of the cache, where the request is alone; slot is its place among the requests that
	// are sent at once.
	salt string
	slot int
	// work is the number of tokens that the server has to read and write meanwhile.
	work int
}

// together writes the texts of prompts that are all of one record: all at once, and nothing else
// meanwhile. A prompt that the server refuses has an empty text: an error would show that
// somebody has such a record.
func (c *Client) together(ctx context.Context, a *exclusion, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	if o.OnText != nil {
		return nil, errors.New("what is written about records is not passed on while it is written")
	}
	if err := errors.Join(o.Check(), c.wire.over(ctx)); err != nil {
		return nil, err
	}
	texts := make([]lm.Text, len(prompts))
	var ask []int
	for i, p := range prompts {
		err := c.checkPrompt(i, p, o)
		if tooLong := (*lm.ContextError)(nil); errors.As(err, &tooLong) {
			texts[i] = lm.Text{Finish: lm.FinishRefused}
			continue
		}
		if err != nil {
			return nil, err
		}
		ask = append(ask, i)
	}
	if len(ask) == 0 {
		return texts, nil
	}
	err := a.hold(ctx, func() (workload, error) {
		answered, usage, err := c.writeAll(ctx, a, prompts, ask, o, texts)
		c.spend(usage)
		if err == nil && usage.Cached > common(prompts) {
			err = c.cacheHitError("a request for text")
		}
		return workOf(answered, usage), err
	})
	if err != nil {
		return nil, err
	}
	return texts, nil
}

// writeAll has some prompts answered, all at once, under a salt of their own. All have ended
// when it returns.
func (c *Client) writeAll(ctx context.Context, a *exclusion, prompts []lm.Prompt, ask []int, o lm.GenerateOptions, texts []lm.Text) (answered int64, usage lm.Usage, err error) {
	as := sendOptions{alone: true, salt: rand.Text()}
	for _, i := range ask {
		as.work += promptLength(prompts[i]) + o.MaxTokens
	}
	var mu sync.Mutex // guards usage and answered
	errs := make([]error, len(ask))
	room := make(chan struct{}, recordPrompts)
	var wait sync.WaitGroup
	for at, i := range ask {
		wait.Go(func() {
			defer fault.Watch()
			room <- struct{}{}
			defer func() { <-room }()
			own, how := o, as
			own.Seed, how.slot = mix(o.Seed, i), at
			text, spent, err := c.dialect.write(ctx, c, prompts[i], own, how, nil)
			mu.Lock()
			defer mu.Unlock()
			usage = usage.Plus(spent)
			computed, refused := refusedPrompt(err)
			switch {
			case refused:
				text = lm.Text{Finish: lm.FinishRefused}
			case err != nil:
				errs[at] = err
				return
			default:
				computed = true
			}
			if texts[i] = text; computed {
				answered++
			}
		})
	}
	wait.Wait()
	for _, e := range errs {
		if e != nil && (err == nil || !a.retryable(e)) {
			err = e // what cannot be repeated decides
		}
	}
	return answered, usage, err
}

// refusedPrompt reports whether a server will not answer a prompt because of what it is: it is too
// long, or a filter has ended the text, which was computed then.
func refusedPrompt(err error) (computed, refused bool) {
	var filtered *filteredError
	if errors.As(err, &filtered) {
		return true, true
	}
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity} {
		refused = refused || hasStatus(err, status)
	}
	return false, refused
}

// filteredError: a filter of the server has ended a text.
type filteredError struct{ ReplyError }

func (e *filteredError) Unwrap() error { return &e.ReplyError }

// promptLength is about the number of tokens of a prompt, and not less.
func promptLength(p lm.Prompt) int {
	n := len(p.Tokens) + len(p.Text)
	for _, m := range p.Messages {
		n += messageMarks + len(m.Content)
	}
	return n
}

// messageMarks bounds the tokens that a chat template puts around a message, and around all.
const messageMarks = 64

// common bounds the tokens that prompts, computed at once under a salt of their own, may have from
// each other: what a server reports beyond it was computed for somebody else.
func common(prompts []lm.Prompt) (tokens int64) {
	for i, p := range prompts {
		longest := 0
		for j, q := range prompts {
			if i != j {
				longest = max(longest, shared(p, q))
			}
		}
		tokens += int64(longest)
	}
	return tokens
}

// shared bounds the tokens that two prompts begin with alike. A token of text has a letter at
// least.
func shared(p, q lm.Prompt) int {
	n := prefix(p.Tokens, q.Tokens) + prefix([]byte(p.Text), []byte(q.Text))
	for i, m := range p.Messages {
		if i >= len(q.Messages) || q.Messages[i].Role != m.Role {
			return n
		}
		n += messageMarks + prefix([]byte(m.Content), []byte(q.Messages[i].Content))
		if m.Content != q.Messages[i].Content {
			return n
		}
	}
	return n
}

func prefix[T comparable](a, b []T) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// others of OpenAI's interface and of SGLang: they report nothing reliable.
func (d *openai) others(context.Context, *Client, bool) (watcher, lm.Isolation, string, error) {
	return nil, "", "", nil
}

// A request to these says what it may take from a cache, or nothing can be said.
func (d *openai) forget(*Client) func(context.Context) error { return nil }

// forget of Ollama has the model unloaded, since no request can keep it from using what it
// computed for the one before.
func (d *ollama) forget(c *Client) func(context.Context) error {
	return func(ctx context.Context) error {
		var done map[string]any
		body := map[string]any{"model": c.info.Name, "keep_alive": 0, "stream": false}
		if err := c.wire.ask(ctx, query{path: c.wire.root + "/api/generate", body: body, alone: true}, &done); err != nil {
			return err
		}
		for range maxIdlePolls {
			var running struct {
				Models []struct {
					Name  string `json:"name"`
					Model string `json:"model"`
				} `json:"models"`
			}
			if err := c.wire.ask(ctx, query{method: http.MethodGet, path: c.wire.root + "/api/ps", alone: true}, &running); err != nil {
				return err
			}
			loaded := false
			for _, m := range running.Models {
				loaded = loaded || m.Name == c.info.Name || m.Model == c.info.Name
			}
			if !loaded {
				return nil
			}
			if err := c.wire.sleep(ctx, c.wire.options.Backoff); err != nil {
				return err
			}
		}
		return &lm.NotIsolatedError{Backend: c.info.Backend, Why: "it does not unload the model, and would use what it computed for one record for the next", Do: "see that nobody else uses it, or use the embedded engine"}
	}
}

// sequences of SGLang and llama.cpp: one for each query.
func (d *openai) sequences(questions []scoreQuery) int64 { return int64(len(questions)) }

func (d *vllm) sequences(questions []scoreQuery) (n int64) {
	for _, q := range questions {
		n += int64(max(1, (len(q.candidates)+vllmIDs-1)/vllmIDs))
	}
	return n
}

// llamaCounters watch llama.cpp's server by the tokens that it counts (--metrics).
type llamaCounters struct{}

func (llamaCounters) look(ctx context.Context, c *Client) (snapshot, error) {
	path, text, err := c.counters(ctx)
	if err != nil {
		return snapshot{}, err
	}
	var s snapshot
	found := map[string]bool{}
	for name, value := range metrics(text) {
		found[name] = true
		switch name {
		case "llamacpp:requests_processing", "llamacpp:requests_deferred":
			s.busy += int(value)
		case "llamacpp:prompt_tokens_total", "llamacpp:tokens_predicted_total":
			s.ended += int64(value)
		case "llamacpp:prompt_tokens_cached_total":
			s.rest += fmt.Sprintf("%v cached\n", value)
		}
	}
	for _, name := range []string{"llamacpp:requests_processing", "llamacpp:requests_deferred", "llamacpp:prompt_tokens_total", "llamacpp:tokens_predicted_total"} {
		if !found[name] {
			return snapshot{}, c.wire.reply(path, "the counters of requests and tokens are not there")
		}
	}
	return s, nil
}

// quiet: as many tokens were read and written as ours are, and none from a cache.
func (llamaCounters) quiet(before, after snapshot, ours workload) (quiet, more bool) {
	return counted(before, after, ours.tokens)
}
