package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// maxEvent bounds one piece of a stream.
const maxEvent = 1 << 20

// stopError ends a request for good: what was read cannot be taken back.
type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }
func (e *stopError) Unwrap() error { return e.err }

// stream sends a request and hands on the answer's events: the data lines of
// server-sent events, or the lines of JSON after JSON. It is tried again only while
// no event has come.
func (w *wire) stream(ctx context.Context, q query, each func(event []byte) error) error {
	begun := false
	err := w.try(ctx, q, func(r *http.Response) error {
		lines := bufio.NewScanner(io.LimitReader(r.Body, maxReply))
		lines.Buffer(make([]byte, 0, 4096), maxEvent)
		for lines.Scan() {
			event := lines.Bytes()
			if data, ok := bytes.CutPrefix(event, []byte("data:")); ok {
				event = bytes.TrimSpace(data)
			} else if len(event) == 0 || event[0] != '{' {
				continue // comments, names of events, blank lines
			}
			if string(event) == "[DONE]" {
				return nil
			}
			begun = true
			if err := each(event); err != nil {
				return &stopError{err}
			}
		}
		switch err := lines.Err(); {
		case err == bufio.ErrTooLong:
			return w.reply(q.path, "a piece of the stream is too long")
		case err != nil && begun:
			e, _ := connectionError(w.backend, q.path, err)
			return &stopError{e}
		default:
			return err
		}
	})
	if stop, ok := err.(*stopError); ok {
		err = stop.err
	}
	if begun {
		if over := w.over(ctx); over != nil && err != nil {
			return over
		}
	}
	return err
}

// errorField is where an event of a stream reports an error.
type errorField struct {
	Error json.RawMessage `json:"error"`
}

func (e *errorField) failed() bool { return len(e.Error) > 0 }

const badEvent = "a piece of the stream is not what the interface describes"

// readStream sends a request for text and reads the events of the answer. take returns the
// piece of text in an event and fills in what the event says of the whole.
func readStream[E any, P interface {
	*E
	failed() bool
}](ctx context.Context, c *Client, q query, onText func(string) error, take func(P, *lm.Text, *lm.Usage) (string, error)) (lm.Text, lm.Usage, error) {
	var text lm.Text
	var whole strings.Builder
	usage := lm.Usage{Requests: 1}
	err := c.wire.stream(ctx, q, func(event []byte) error {
		got := P(new(E))
		if json.Unmarshal(event, got) != nil || got.failed() {
			return c.wire.reply(q.path, badEvent)
		}
		piece, err := take(got, &text, &usage)
		if err != nil || piece == "" {
			return err
		}
		whole.WriteString(piece)
		if onText == nil {
			return nil
		}
		return onText(piece)
	})
	if err == nil && text.Finish == "" {
		err = c.wire.reply(q.path, "the stream ended before the text did")
	}
	if err != nil {
		return lm.Text{}, usage, err
	}
	text.Text = whole.String()
	return text, usage, nil
}
