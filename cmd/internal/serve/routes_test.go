package serve

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

// TestJudgedPrompt: a route has the prompt that the records of its release chose: instruction, examples, form and calibration. The
// model in this program answers one that they judged as one text as they did, alone and whole; in turns, on other upstreams,
// with fewer examples it is asked.
func TestJudgedPrompt(t *testing.T) {
	p := newPlace(t)
	p.covers = true
	p.builder.Upstreams["embedded"] = &gateway.Local{Turns: &gateway.Turns{}}
	chosen := func(name, form string) string {
		t.Helper()
		dir := p.release(t, name, demos)
		must(t, os.WriteFile(filepath.Join(dir, "prompt.json"), fmt.Appendf(nil, `{"instruction":"Which part of a newspaper?","examples":[{"input":"Oil got cheaper.","output":"Business"}],"form":%q,"calibrated":%v}`, form, form == "text"), 0o600))
		return dir
	}
	text, chat := chosen("text", "text"), chosen("chat", "chat")
	for name, c := range map[string]struct {
		spec   store.RouteSpec
		judged bool
	}{
		"text":           {store.RouteSpec{Upstream: "embedded", Release: text}, true},
		"chat":           {store.RouteSpec{Upstream: "embedded", Release: chat}, false},
		"other upstream": {store.RouteSpec{Upstream: "local", Release: text}, false},
		"no prompt":      {store.RouteSpec{Upstream: "embedded", Release: p.release(t, "plain", demos)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Task = "agnews"
			r, err := p.builder.route(t.Context(), store.Route{Name: "news", Version: 1, Spec: c.spec})
			must(t, err)
			if (r.Judged != nil) != c.judged || r.Shots == nil {
				t.Fatalf("judged: %v, want %v", r.Judged != nil, c.judged)
			}
			if !c.judged {
				return
			}
			got := r.Judged.Prompt
			expect.Equal(t, "got.Instruction", got.Instruction, "Which part of a newspaper?")
			expect.Equal(t, "got.Form", got.Form, prompt.TextForm)
			expect.True(t, "got.Calibrated", got.Calibrated)
			expect.True(t, "len(got.Examples) is not 0", len(got.Examples) != 0, len(got.Examples))
		})
	}
}

// TestUnknownModels: a model that is not there is 404 for keys that may know that, and 403 for others, as are routes that a key
// may not use.
func TestUnknownModels(t *testing.T) {
	p := newPlace(t)
	ctx := t.Context()
	for _, name := range []string{"news", "other"} {
		_, err := p.SetRoute(ctx, "test", name, store.RouteSpec{Upstream: "local", Model: "m"})
		must(t, err)
	}
	key := func(routes ...string) string {
		t.Helper()
		_, secret, err := p.AddKey(ctx, "test", store.Key{Name: "team", Routes: routes})
		must(t, err)
		return secret
	}
	cases := []struct {
		key, model string
		want       int
	}{
		{key("*"), "news", 200},
		{key("*"), "nowhere", 404},
		{key("news"), "news", 200},
		{key("news"), "other", 403},
		{key("news"), "nowhere", 403},
		{key("news", "gone"), "gone", 404},
	}
	address, _ := p.start(t, Options{})
	for _, c := range cases {
		if status, got := ask(t, address, c.key, c.model); status != c.want || status == 404 && !strings.Contains(got, "model_not_found") {
			t.Errorf("%s: %d %s, want %d", c.model, status, got, c.want)
		}
		q, err := http.NewRequest(http.MethodGet, "http://"+address+"/v1/models/"+c.model, nil)
		must(t, err)
		q.Header.Set("Authorization", "Bearer "+c.key)
		r, err := http.DefaultClient.Do(q)
		must(t, err)
		must(t, r.Body.Close())
		if r.StatusCode != c.want {
			t.Errorf("the model %s: %d, want %d", c.model, r.StatusCode, c.want)
		}
	}
}
