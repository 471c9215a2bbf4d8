package remote

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

func TestStreams(t *testing.T) {
	event := func(text, finish string) string {
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"text\":%q,\"finish_reason\":%s}]}\n\n", text, finish)
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	broken := "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n"
	for _, test := range []struct {
		name, raw string
		told      string
		attempts  int64
		ok        bool
	}{
		{"whole", head + event("a ", "null") + event("b", `"stop"`) + "data: [DONE]\n\n", "a b", 1, true},
		{"without the last line", head + event("a", `"length"`), "a", 1, true},
		{"comments and blank lines", head + ": ping\n\n\nevent: x\n" + event("a", `"stop"`), "a", 1, true},
		{"broken before any piece", broken, "", 3, false},
		{"broken after a piece", broken + event("a ", "null"), "a ", 1, false},
		{"ended early", head + event("a ", "null") + "data: [DONE]\n\n", "a ", 1, false},
		{"empty", head, "", 1, false},
		{"an error within", head + event("a ", "null") + "data: {\"error\":{\"message\":\"secret\"}}\n\n", "a ", 1, false},
		{"garbage", head + "data: {{{\n\n", "", 1, false},
		{"a filter", head + event("a", `"content_filter"`), "", 1, false},
		{"a long line", head + "data: " + strings.Repeat("x", maxEvent+10), "", 1, false},
	} {
		var requests atomic.Int64
		w := serve(t, Options{Retries: 2}, func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			cut(w, test.raw)
		})
		c := &Client{wire: w}
		var told strings.Builder
		text, _, err := c.complete(t.Context(), completion{Prompt: "x"}, sendOptions{}, func(piece string) error {
			told.WriteString(piece)
			return nil
		})
		expect.True(t, test.name+": the error that is wanted", (err == nil) == test.ok, err)
		expect.Equal(t, test.name+": told", told.String(), test.told)
		expect.Equal(t, test.name+": attempts", requests.Load(), test.attempts)
		if err == nil && text.Text != test.told || err != nil && text != (lm.Text{}) {
			t.Errorf("%s: text %+v, error %v", test.name, text, err)
		}
	}
}
