package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sotto-dp/sotto/sys/bounded"
	"github.com/sotto-dp/sotto/sys/fault"
)

// Shadow compares a route's examples with others on live traffic: some requests go to the same
// upstream a second time, with these in place of the route's. Clients get the answer to the first
// and do not wait for the second. Of both answers only how they compare is kept.
type Shadow struct {
	Shots *Shots
	// Share of requests that are compared.
	Share float64
	// Labels of the task, if its answers are of a list.
	Labels []string

	underWay atomic.Int64
}

// Comparison is how two answers to one request compare.
type Comparison struct {
	Route string
	// Failed: the second was not answered, and the rest is not known.
	Failed bool
	// Same: apart from case and space around them, the answers are equal.
	Same bool
	// Fits and ShadowFits: the answer is one of the task's labels, if it has any.
	Labelled         bool
	Fits, ShadowFits bool
}

// At most so many requests are asked a second time at once, each for so long at most.
const (
	maxShadows = 8
	shadowTime = 2 * time.Minute
)

// chosen decides whether a request is compared. Only those with one answer are.
func (s *Shadow) chosen(path string, b body) bool {
	if s == nil || path != "/v1/chat/completions" && path != "/v1/completions" || rand.Float64() >= s.Share {
		return false
	}
	n, asks := b["n"]
	return !asks || string(n) == "1" || string(n) == "null"
}

// compare asks a second time, and reports how the answers compare. release is called when nobody needs
// the request any more.
func (h *Handler) compare(ctx context.Context, route *Route, path string, b body, first string, release func()) {
	s := route.Shadow
	if first == "" || s.underWay.Add(1) > maxShadows {
		if first != "" {
			s.underWay.Add(-1)
		}
		release()
		return
	}
	go func() {
		defer fault.Watch()
		defer release()
		defer s.underWay.Add(-1)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shadowTime)
		defer cancel()
		c := Comparison{Route: route.Name, Failed: true}
		defer func() {
			if h.Compared != nil {
				h.Compared(c)
			}
		}()
		defer fault.Recover(func(string) {})
		if second, err := route.second(ctx, path, b); err == nil {
			fits := func(text string) bool {
				return slices.ContainsFunc(s.Labels, func(l string) bool { return alike(l, text) })
			}
			c = Comparison{Route: route.Name, Same: alike(first, second), Labelled: len(s.Labels) > 0, Fits: fits(first), ShadowFits: fits(second)}
		}
	}()
}

func alike(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }

// second asks with the shadow's examples, for an answer at once.
func (r *Route) second(ctx context.Context, path string, b body) (string, error) {
	b, err := b.with("stream", false)
	if err != nil {
		return "", err
	}
	delete(b, "stream_options")
	other := &Route{Name: r.Name, Upstream: r.Upstream, Model: r.Model, Shots: r.Shadow.Shots}
	return other.text(ctx, path, b)
}

// said returns the text of an answer, or of a piece of one; "" if it has none.
func said(data []byte) string {
	var a apiResponse
	if bounded.Count(data) > maxValues || json.Unmarshal(data, &a) != nil || len(a.Choices) == 0 {
		return ""
	}
	switch c := a.Choices[0]; {
	case c.Message != nil:
		return c.Message.Content
	case c.Delta != nil:
		return c.Delta.Content
	case c.Text != nil:
		return *c.Text
	}
	return ""
}

// clientAnswer is an answer as a client got it, if somebody wants to compare it.
type clientAnswer struct {
	wanted bool
	text   strings.Builder
}

// maxRecorded bounds what is held of an answer to be compared.
const maxRecorded = 1 << 20

// add adds a whole answer, or the event of a stream.
func (o *clientAnswer) add(data []byte) {
	if !o.wanted || o.text.Len() > maxRecorded {
		return
	}
	if event, is := bytes.CutPrefix(data, []byte("data:")); is {
		data = event
	}
	if data = bytes.TrimSpace(data); bytes.HasPrefix(data, []byte("{")) {
		o.text.WriteString(said(data))
	}
}
