package remote

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
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
