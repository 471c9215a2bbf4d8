package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// body is a request as JSON has it: what is not known stays as it is.
type body map[string]json.RawMessage

// Bounds of a request beside its bytes. A member of OpenAI's requests is one of some forty, and the
// longest lists, of tokens to embed, have as many elements as a model's context. A value takes about
// so many bytes in this program.
const (
	maxMembers = 1024
	maxValues  = 1 << 16
	valueBytes = 128
)

// readBody reads a request. Its bytes, and what becomes of its values, are held before there is
// memory for them.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request, held *bounded.Reservation) (body, error) {
	data, err := held.Read(http.MaxBytesReader(w, r.Body, h.Largest), r.ContentLength, h.Largest)
	_, large := errors.AsType[*bounded.Error](err)
	switch _, larger := errors.AsType[*http.MaxBytesError](err); {
	case large || larger:
		return nil, problem(http.StatusRequestEntityTooLarge, invalidRequest, "", "", "the request is larger than the %d bytes that this server takes", h.Largest)
	case full(err) != nil:
		return nil, full(err)
	case err != nil:
		return nil, problem(http.StatusBadRequest, invalidRequest, "", "", "the request broke off")
	}
	values := bounded.Count(data)
	if values > maxValues {
		return nil, problem(http.StatusRequestEntityTooLarge, invalidRequest, "", "", "the request has more than the %d values that this server takes, of members and lists together: send it in parts", maxValues)
	}
	if err := held.Add(int64(values) * valueBytes); err != nil {
		return nil, full(err)
	}
	if bounded.JSON(data, h.Largest) != nil {
		return nil, invalid("", "the request is nested more than %d deep", bounded.Depth)
	}
	b, err := bounded.Object(data, maxMembers)
	if _, many := errors.AsType[*bounded.Error](err); many {
		return nil, problem(http.StatusRequestEntityTooLarge, invalidRequest, "", "", "the request has more than the %d members that this server takes", maxMembers)
	}
	if err != nil {
		return nil, invalid("", "the request is not a JSON object")
	}
	return b, body(b).clear("model", "messages", "prompt", "input", "stream")
}

// full is what a client is told if too much is under way; nil if that is not what is wrong.
func full(err error) error {
	switch {
	case errors.Is(err, bounded.ErrClientFull):
		e := problem(http.StatusTooManyRequests, rateLimit, "", "rate_limit_exceeded", "the key has too many large requests under way: wait until some of them have ended")
		e.wait = time.Second
		return e
	case errors.Is(err, bounded.ErrFull):
		e := problem(http.StatusServiceUnavailable, serverSide, "", "", "too many large requests are under way: try again in a moment")
		e.wait = time.Second
		return e
	}
	return nil
}

// clear refuses members that differ from one of these in their letters' case alone: programs
// that do not look at case would take them for it, and not what the gateway put there.
func (b body) clear(names ...string) error {
	for member := range b {
		for _, name := range names {
			if member != name && strings.EqualFold(member, name) {
				return invalid(name, "a member of the request is almost called %q: spell it so", name)
			}
		}
	}
	return nil
}

// besides returns the names of members that are not among these, sorted, as far as they may be repeated to
// anyone who sent them.
func (b body) besides(known []string) (names []string) {
	for name := range b {
		if !slices.Contains(known, name) && member.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// text returns a member that has to be a string, "" if it is missing.
func (b body) text(name string) (string, error) {
	var s string
	if raw, there := b[name]; there && json.Unmarshal(raw, &s) != nil {
		return "", invalid(name, "%q should be a string", name)
	}
	return s, nil
}

// with returns a copy with another value of a member.
func (b body) with(name string, value any) (body, error) {
	data, err := marshal(value)
	if err != nil {
		return nil, err
	}
	out := make(body, len(b)+1)
	for k, v := range b {
		out[k] = v
	}
	out[name] = data
	return out, nil
}

// marshal leaves < and > as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// insert adds a member to the text of an object. Anything else is left as it is.
func insert(object []byte, name string, value []byte) []byte {
	end := len(bytes.TrimRight(object, " \t\r\n"))
	if end < 2 || object[end-1] != '}' {
		return object
	}
	before := bytes.TrimRight(object[:end-1], " \t\r\n")
	out := make([]byte, 0, len(object)+len(name)+len(value)+4)
	out = append(out, before...)
	if !bytes.HasSuffix(before, []byte("{")) {
		out = append(out, ',')
	}
	out = append(out, '"')
	out = append(out, name...)
	out = append(out, '"', ':')
	out = append(out, value...)
	return append(out, object[end-1:]...)
}
