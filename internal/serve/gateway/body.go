package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/sotto-dp/sotto/internal/bounded"
)

// body is a request as JSON has it: what is not known stays as it is.
type body map[string]json.RawMessage

// readBody reads a request of at most so many bytes.
func readBody(w http.ResponseWriter, r *http.Request, largest int64) (body, error) {
	data, err := bounded.Read(http.MaxBytesReader(w, r.Body, largest), largest)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, problem(http.StatusRequestEntityTooLarge, invalidRequest, "", "", "the request is larger than the %d bytes that this server takes", largest)
	case err != nil:
		return nil, problem(http.StatusBadRequest, invalidRequest, "", "", "the request broke off")
	}
	var b body
	if err := bounded.UnmarshalJSON(data, largest, &b); err != nil || b == nil {
		return nil, invalid("", "the request is not a JSON object, or it is nested more than %d deep", bounded.Depth)
	}
	return b, b.clear("model", "messages", "prompt", "input", "stream")
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
