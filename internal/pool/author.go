package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Author generates public examples for a task with a model.
type Author struct {
	// Model generates the texts. It sees no record and need not be trusted. Required.
	Model lm.Model
	// Task to write for. Required.
	Task prompt.Task
	// Conditions are public labels, phrases or inputs to write for where the task has no
	// closed list of labels. Default: the task's own, or what the model makes up.
	Conditions []string
	// Time bounds a call. Default [DefaultTime].
	Time time.Duration
	// Seed of the sampling: the same request has another reply with another one.
	Seed uint64
}

// Bounds of requests.
const (
	// DefaultTime is the time limit of all requests of a call.
	DefaultTime = 10 * time.Minute
	// MaxRequests of a call.
	MaxRequests = 400

	tries       = 3 // for what is missing
	failures    = 3 // of requests sent together, until a call is given up
	together    = 8 // requests at a time
	maxTokens   = 4096
	maxReply    = 1 << 17 // bytes that are looked at
	textsAtOnce = 8
	pairsAtOnce = 4
)

// Tally counts the results of requests.
type Tally struct {
	Requests int
	// Usable, Malformed and Duplicates count texts.
	Usable, Malformed, Duplicates int
}

// String describes the tally.
func (t Tally) String() string {
	out := fmt.Sprintf("%d usable of %d in %d requests", t.Usable, t.Usable+t.Malformed+t.Duplicates, t.Requests)
	if t.Malformed+t.Duplicates > 0 {
		out += fmt.Sprintf(" (%d malformed, %d twice)", t.Malformed, t.Duplicates)
	}
	return out
}

// Error reports that a model did not generate enough.
type Error struct {
	// Model is its name, and Reason what is missing.
	Model, Reason string
	Tally         Tally
	// Err is the server's error, if that is the cause.
	Err error
}

func (e *Error) Error() string {
	out := fmt.Sprintf("the model %s was to write examples, and %s: %s", e.Model, e.Reason, e.Tally.String())
	if e.Err != nil {
		out += fmt.Sprintf("; %v", e.Err)
	}
	return out + ". Try again, use another model, or give examples of your own"
}

func (e *Error) Unwrap() error { return e.Err }

// Examples generates about n examples: equally many for each label of a closed list, at
// least one; for given phrases or inputs; or for conditions that the model makes up.
func (a *Author) Examples(ctx context.Context, n int) ([]prompt.Example, Tally, error) {
	r := a.reading()
	if r.task.Kind == prompt.Classify && len(r.conditions) == 0 {
		return nil, Tally{}, errors.New("a model can only write examples for labels that are known: list them in the task, or give a public list")
	}
	err := a.gather(ctx, r, func() []request { return r.missing(n) })
	if err == nil {
		err = r.enough(n)
	}
	if err != nil {
		return nil, r.tally, a.failed(err, r)
	}
	return r.list, r.tally, nil
}

// Like generates n more examples like those shown, which are public: all with the label of
// the first, where there is a closed list. There may be fewer, or none.
func (a *Author) Like(ctx context.Context, shown []prompt.Example, n int) ([]prompt.Example, Tally, error) {
	r := a.reading()
	if len(shown) == 0 || n < 1 {
		return nil, r.tally, nil
	}
	for _, e := range shown {
		r.seen[key(e)] = true
	}
	q := r.like(shown, n)
	err := a.gather(ctx, r, func() []request {
		if q.want = n - len(r.list); q.want < 1 || r.tally.Requests > 1 {
			return nil
		}
		return []request{q}
	})
	if err != nil {
		return nil, r.tally, a.failed(err, r)
	}
	return r.list[:min(n, len(r.list))], r.tally, nil
}

// failed returns the error of a call.
func (a *Author) failed(err error, r *replyReader) error {
	var lacking *Error
	if errors.As(err, &lacking) {
		lacking.Model, lacking.Tally, lacking.Err = a.Model.Info().Name, r.tally, r.err
		return lacking
	}
	return &Error{Model: a.Model.Info().Name, Reason: "it could not be asked", Tally: r.tally, Err: err}
}

// lacking returns an error about what is missing.
func lacking(format string, args ...any) error { return &Error{Reason: fmt.Sprintf(format, args...)} }

// request is a request and how its reply is read.
type request struct {
	text string
	// want so many, each of up to tokens.
	want, tokens int
	// output is the label that all texts have, or input what the reply answers; both are ""
	// where a reply has pairs.
	output, input string
	// among are the outputs that a pair may have; any if there are none.
	among []string
	// wordings: texts are instructions.
	wordings bool
}

// gather sends requests until nothing is missing or no more are allowed.
func (a *Author) gather(ctx context.Context, r *replyReader, missing func() []request) error {
	limit := a.Time
	if limit <= 0 {
		limit = DefaultTime
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	failed := 0
	for range tries {
		list := missing()
		if len(list) == 0 {
			return nil
		}
		for len(list) > 0 && r.tally.Requests < MaxRequests {
			batch := list[:min(together, len(list), MaxRequests-r.tally.Requests)]
			list = list[len(batch):]
			err := a.ask(timed, r, batch)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case timed.Err() != nil:
				return lacking("it took longer than %v", limit)
			case err != nil:
				r.err = err
				if failed++; failed == failures {
					return err
				}
			}
		}
	}
	return nil
}

// ask sends a batch of requests and reads the replies.
func (a *Author) ask(ctx context.Context, r *replyReader, batch []request) error {
	info := a.Model.Info()
	prompts, o := make([]lm.Prompt, len(batch)), lm.GenerateOptions{Temperature: 1, Seed: a.Seed<<16 + uint64(r.tally.Requests)}
	for i, q := range batch {
		prompts[i] = lm.Prompt{Text: q.text + "\n"}
		if info.Can.Chat {
			prompts[i] = lm.Prompt{Messages: []lm.Message{{Role: lm.User, Content: q.text}}}
		}
		o.MaxTokens = max(o.MaxTokens, q.want*(q.tokens*3/2+24)+64)
	}
	o.MaxTokens = min(o.MaxTokens, maxTokens)
	if info.Context > 0 {
		o.MaxTokens = min(o.MaxTokens, max(16, info.Context/2))
	}
	r.tally.Requests += len(batch)
	replies, err := a.Model.Generate(ctx, prompts, o)
	if err != nil {
		return err
	}
	if len(replies) != len(batch) {
		return errors.New("there are not as many replies as requests")
	}
	for i, reply := range replies {
		r.read(batch[i], bound(reply.Text))
	}
	return nil
}

// bound cuts a reply that is too long.
func bound(reply string) string {
	return strings.ToValidUTF8(reply[:min(len(reply), maxReply)], "")
}
