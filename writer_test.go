package sotto_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
)

// chatServer is one of OpenAI's interface that only chats. It names the label that is in the
// question if there are examples, and notes whether two records were asked about at a time.
type chatServer struct {
	mu      sync.Mutex
	inside  map[string]int
	met     bool
	highest int
}

func (c *chatServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"some-model","object":"model"}]}`))
		return
	}
	var body struct {
		Messages []lm.Message `json:"messages"`
	}
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") || json.NewDecoder(r.Body).Decode(&body) != nil {
		http.NotFound(w, r)
		return
	}
	question := body.Messages[len(body.Messages)-1].Content
	record := regexp.MustCompile(marker + ` \w+ \d+`).FindString(question)
	c.mu.Lock()
	if c.inside[record]++; len(c.inside) > 1 {
		c.met = true
	}
	c.highest = max(c.highest, c.inside[record])
	c.mu.Unlock()
	time.Sleep(2 * time.Millisecond)
	answer := "I do not know"
	for _, label := range task().Labels {
		if strings.Contains(record, label) && len(body.Messages) > 2 {
			answer = label
		}
	}
	c.mu.Lock()
	if c.inside[record]--; c.inside[record] == 0 {
		delete(c.inside, record)
	}
	c.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": answer}, "finish_reason": "stop"}},
		"usage":   map[string]any{"prompt_tokens": 9, "completion_tokens": 1},
	})
}

// TestServerThatOnlyWrites: records choose a prompt by what a trusted server writes, which gives no
// scores: one record at a time, several prompts at once; the certificate says so and holds.
func TestServerThatOnlyWrites(t *testing.T) {
	c := &chatServer{inside: map[string]int{}}
	server := httptest.NewServer(c)
	defer server.Close()
	o := options(t)
	o.Trusted = lm.TrustedScorer{}
	o.Model = backend.Spec{URL: server.URL, Trusted: true, Exclusive: true}
	var examples []prompt.Example
	for i, label := range task().Labels {
		examples = append(examples, prompt.Example{Input: fmt.Sprintf("a public text %d", i), Output: label}, prompt.Example{Input: fmt.Sprintf("another public text %d", i), Output: label})
	}
	o.Request.Settings = nil
	o.Request.Choosing = &sotto.ChooseRequest{Examples: examples, NoGeneration: true, Rounds: 2, Records: 10}
	result, err := synthesize(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if result.Prompt == nil {
		t.Fatalf("result.Prompt: got none")
	}
	expect.True(t, "result.Prompt.Form.Turns()", result.Prompt.Form.Turns(), result.Prompt.Form)
	expect.Min(t, "number of result.Prompt.Examples", len(result.Prompt.Examples), 1)
	if c.met || c.highest < 2 {
		t.Errorf("two records at a time: %v; at most %d prompts of one at once", c.met, c.highest)
	}
	trust, err := certificate.LoadTrust(o.client().Keys())
	if err != nil {
		t.Fatal(err)
	}
	report, err := sotto.Verify(o.Out, trust)
	expect.NoError(t, err)
	expect.True(t, "report.OK", report.OK)
	expect.Equal(t, "report.Predicate.Model.Isolation", report.Predicate.Model.Isolation, string(lm.RecordsExclusive))
}
