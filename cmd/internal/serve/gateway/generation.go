package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// generation is an answer in the making.
type generation struct {
	// write writes the text, piece by piece if it is given somebody who is told them.
	write   func(ctx context.Context, onText func(int, string) error) (lm.Text, counts, error)
	chat    bool
	usage   bool
	id      string
	model   string
	created int64
	prompt  lm.Prompt
	options lm.GenerateOptions
}

// newID names an answer.
func newID() string { return "cmpl-" + strings.ToLower(rand.Text()) }

// answer answers at once, or with events.
func (g *generation) answer(ctx context.Context, stream bool) (*http.Response, error) {
	if stream {
		return g.stream(ctx)
	}
	return g.whole(ctx)
}

// counts are the tokens of an answer, as OpenAI has them.
type counts struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// choice is an answer, or a piece of one.
type choice struct {
	Index   int          `json:"index"`
	Message *prompt.Turn `json:"message,omitempty"`
	Delta   *delta       `json:"delta,omitempty"`
	Text    *string      `json:"text,omitempty"`
	Finish  *string      `json:"finish_reason"`
}

type delta struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
}

// apiResponse is an answer in OpenAI's shape.
type apiResponse struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *counts  `json:"usage,omitempty"`
}

// generate has the model write a text, beside those of others, with the number of tokens read and
// written.
func (l *Local) generate(ctx context.Context, g *generation, onText func(int, string) error) (lm.Text, counts, error) {
	o := g.options
	o.OnText = onText
	w := &textRequest{ctx: ctx, prompt: g.prompt, options: o, opening: openingOf(ctx), done: make(chan struct{})}
	err := l.await(w, recordOf(ctx).Client)
	var long *lm.ContextError
	switch {
	case w.fault != "":
		recordOf(ctx).Fault = w.fault
		return lm.Text{}, counts{}, problem(http.StatusInternalServerError, serverSide, "", "", "the request failed within the gateway")
	case errors.As(err, &long):
		return lm.Text{}, counts{}, problem(http.StatusBadRequest, invalidRequest, "messages", "context_length_exceeded", "the conversation with its examples and the answer does not fit the model's context: shorten it, or use fewer examples")
	case err != nil:
		return lm.Text{}, counts{}, err
	}
	return w.text, counts{w.length, w.text.Tokens, w.length + w.text.Tokens}, nil
}

// length is the number of tokens of a prompt, where the model says. It is counted anew: what the
// model has done meanwhile may be for others.
func length(ctx context.Context, m lm.Model, p lm.Prompt) (int, error) {
	scorer, is := m.(lm.Scorer)
	if !is {
		return 0, nil
	}
	var tokens []lm.Token
	var err error
	if len(p.Messages) > 0 {
		tokens, err = scorer.Chat(ctx, p.Messages)
	} else {
		tokens, err = scorer.Tokenizer().Encode(ctx, p.Text)
	}
	return len(tokens), err
}

// finish is OpenAI's word for the end of a text.
func finish(f lm.Finish) *string {
	word := "stop"
	if f == lm.FinishLength {
		word = "length"
	}
	return &word
}

// whole answers at once.
func (g *generation) whole(ctx context.Context) (*http.Response, error) {
	text, used, err := g.write(ctx, nil)
	if err != nil {
		return nil, err
	}
	a := apiResponse{ID: g.id, Object: "text_completion", Created: g.created, Model: g.model, Usage: &used}
	c := choice{Finish: finish(text.Finish), Text: &text.Text}
	if g.chat {
		a.Object = "chat.completion"
		c.Text, c.Message = nil, &prompt.Turn{Role: prompt.AssistantRole, Content: text.Text}
	}
	a.Choices = []choice{c}
	data, err := marshal(a)
	if err != nil {
		return nil, err
	}
	return response("application/json", io.NopCloser(bytes.NewReader(data))), nil
}

func response(kind string, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: body}
}

// stream answers with events as they come. The model does not wait for anyone who reads them: the
// next request does not wait for a slow client. Who closes the body ends the generation. What
// fails before the first event is an error, not a stream that breaks off.
func (g *generation) stream(ctx context.Context) (*http.Response, error) {
	writing, cancel := context.WithCancel(ctx)
	// The beginning, a piece for each token, what a stop string held back, the end, the usage,
	// the mark.
	b := &eventBody{ctx: writing, events: make(chan []byte, g.options.MaxTokens+5), cancel: cancel}
	go func() {
		defer fault.Watch()
		defer cancel()
		defer close(b.events)
		defer fault.Recover(func(string) { b.err = errors.New("a fault of this program") })
		b.err = g.events(writing, b)
	}()
	select {
	case first, more := <-b.events:
		if !more {
			return nil, b.err
		}
		b.rest = first
	case <-ctx.Done(): // the client went; the end of the writing may come before its first event is seen
		return nil, ctx.Err()
	}
	return response("text/event-stream", b), nil
}

// eventBody is a body that is written in pieces, which it holds until they are read.
type eventBody struct {
	ctx    context.Context // until it is closed
	events chan []byte
	cancel context.CancelFunc
	err    error // why the writer ended, once the channel is closed
	rest   []byte
}

func (b *eventBody) Write(data []byte) (int, error) {
	select {
	case b.events <- bytes.Clone(data):
		return len(data), nil
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

func (b *eventBody) Read(to []byte) (int, error) {
	if len(b.rest) == 0 {
		next, more := <-b.events // it is closed when the request ends, too
		if !more {
			return 0, cmp.Or(b.err, io.EOF)
		}
		b.rest = next
	}
	n := copy(to, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *eventBody) Close() error {
	b.cancel()
	return nil
}

func (g *generation) events(ctx context.Context, w io.Writer) error {
	event := func(choices []choice, used *counts) error {
		a := apiResponse{ID: g.id, Object: "text_completion", Created: g.created, Model: g.model, Choices: choices, Usage: used}
		if g.chat {
			a.Object = "chat.completion.chunk"
		}
		data, err := marshal(a)
		if err == nil {
			_, err = w.Write(append(append([]byte("data: "), data...), '\n', '\n'))
		}
		return err
	}
	piece := func(text string, end *string) []choice {
		if g.chat {
			return []choice{{Delta: &delta{Content: text}, Finish: end}}
		}
		return []choice{{Text: &text, Finish: end}}
	}
	begun := !g.chat
	begin := func() error {
		if begun {
			return nil
		}
		begun = true
		return event([]choice{{Delta: &delta{Role: "assistant"}}}, nil)
	}
	text, used, err := g.write(ctx, func(_ int, said string) error {
		if err := begin(); err != nil {
			return err
		}
		return event(piece(said, nil), nil)
	})
	if err == nil {
		err = begin()
	}
	if err != nil {
		return err
	}
	if err := event(piece("", finish(text.Finish)), nil); err != nil {
		return err
	}
	if g.usage {
		if err := event([]choice{}, &used); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "data: [DONE]\n\n")
	return err
}
