package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
)

// parrot is a model that writes the words of its last message again.
type parrot struct {
	fails error
}

func (*parrot) Info() lm.Info   { return lm.Info{Name: "parrot", Backend: "test"} }
func (*parrot) Usage() lm.Usage { panic("it may be for others, among them private answers") }
func (*parrot) Close() error    { return nil }
func (p *parrot) Generate(_ context.Context, prompts []lm.Prompt, o lm.GenerateOptions) ([]lm.Text, error) {
	if p.fails != nil {
		return nil, p.fails
	}
	text := prompts[0].Text
	if m := prompts[0].Messages; len(m) > 0 {
		text = m[len(m)-1].Content
	}
	words := strings.SplitAfter(text, " ")
	finish := lm.FinishEnd
	if len(words) > o.MaxTokens {
		words, finish = words[:o.MaxTokens], lm.FinishLength
	}
	for _, w := range words {
		if o.OnText == nil {
			break
		}
		if err := o.OnText(0, w); err != nil {
			return nil, err
		}
	}
	return []lm.Text{{Text: strings.Join(words, ""), Finish: finish, Tokens: len(words)}}, nil
}

// localGateway serves a model of this process.
func localGateway(t *testing.T, m *parrot) string {
	t.Helper()
	opened := 0
	local := &Local{
		Turns: &Turns{},
		Open: func(context.Context) (lm.Model, error) {
			if opened++; opened > 1 {
				t.Error("the model was opened twice")
			}
			return m, nil
		},
		Encoder: func() (lm.Embedder, error) { return nearby{}, nil },
	}
	t.Cleanup(func() { must(t, local.Close()) })
	table, err := NewTable([]*Route{{Name: "local", Upstream: local, Model: "parrot", About: About{Route: "local"}}, {Name: "plain", Upstream: local, About: About{Route: "plain"}}})
	must(t, err)
	front := httptest.NewServer(New(table, Options{}))
	t.Cleanup(front.Close)
	return front.URL
}

// TestLocal: a model of this process answers as OpenAI's API does.
func TestLocal(t *testing.T) {
	url := localGateway(t, &parrot{})
	r, got := post(t, url+"/v1/chat/completions", `{"model":"local","max_tokens":2,"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"one two three"}]}]}`)
	var chat apiResponse
	must(t, json.Unmarshal([]byte(got), &chat))
	at := expect.At(t, "%s", got)
	expect.Equal(at, "r.StatusCode", r.StatusCode, 200)
	expect.Equal(at, "chat.Object", chat.Object, "chat.completion")
	expect.Len(at, "chat.Choices", chat.Choices, 1)
	expect.Equal(at, "chat.Choices[0].Message.Content", chat.Choices[0].Message.Content, "one two ")
	expect.Equal(at, "*chat.Choices[0].Finish", *chat.Choices[0].Finish, "length")
	expect.Equal(at, "*chat.Usage", *chat.Usage, (counts{0, 2, 2}))
	_, got = post(t, url+"/v1/completions", `{"model":"local","prompt":"one two","stop":["x"],"temperature":0,"seed":4,"top_p":0.5}`)
	var text apiResponse
	must(t, json.Unmarshal([]byte(got), &text))
	at = expect.At(t, "%s", got)
	expect.Equal(at, "text.Object", text.Object, "text_completion")
	expect.Equal(at, "*text.Choices[0].Text", *text.Choices[0].Text, "one two")
	expect.Equal(at, "*text.Choices[0].Finish", *text.Choices[0].Finish, "stop")
	_, got = post(t, url+"/v1/embeddings", `{"model":"local","input":["paid","x"]}`)
	if !strings.Contains(got, `"embedding":[1,0]`) || !strings.Contains(got, `"index":1`) {
		t.Error(got)
	}
	_, got = post(t, url+"/v1/embeddings", `{"model":"local","input":"paid","encoding_format":"base64"}`)
	if want := base64.StdEncoding.EncodeToString([]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0}); !strings.Contains(got, want) {
		t.Error(got)
	}
}

// TestLocalSaysWhatItIgnores: members of a request that have no effect are named in its answer, at once and in a stream, and
// nothing that was sent beside their names. What changes nothing if it is left out is not. The answer has the name of a
// model, that of the route where it has no other.
func TestLocalSaysWhatItIgnores(t *testing.T) {
	url := localGateway(t, &parrot{})
	for _, stream := range []string{"", `"stream":true,`} {
		_, got := post(t, url+"/v1/chat/completions", `{"model":"plain",`+stream+`"logit_bias":{"5":-100},"presence_penalty":1,"Strange one":1,"user":"u","logprobs":false,"n":1,"response_format":{"type":"text"},"temperature":0,"messages":[{"role":"user","content":"one"}]}`)
		expect.Contains(t, "got", got, `"ignored":["logit_bias","presence_penalty"]`)
		expect.Contains(t, "got", got, `"model":"plain"`)
		expect.True(t, "no Strange", !strings.Contains(got, "Strange"), got)
	}
	if _, got := post(t, url+"/v1/completions", `{"model":"plain","prompt":"one","frequency_penalty":2}`); !strings.Contains(got, `"ignored":["frequency_penalty"]`) {
		t.Error(got)
	}
	for _, wrong := range []string{`"echo":true`, `"suffix":"x"`, `"logprobs":0`} {
		if r, got := post(t, url+"/v1/completions", `{"model":"plain","prompt":"one",`+wrong+`}`); r.StatusCode != 400 {
			t.Errorf("%s: %s", wrong, got)
		}
	}
	if _, got := post(t, url+"/v1/embeddings", `{"model":"plain","input":"one","task":"x","dimensions":2}`); !strings.Contains(got, `"ignored":["task"]`) {
		t.Error(got)
	}
	if r, got := post(t, url+"/v1/embeddings", `{"model":"plain","input":"one","dimensions":1}`); r.StatusCode != 400 {
		t.Error(got)
	}
}

// TestLocalStream: words come as events, then the end, the usage if it is asked for, and a
// mark.
func TestLocalStream(t *testing.T) {
	url := localGateway(t, &parrot{})
	_, got := post(t, url+"/v1/chat/completions", `{"model":"local","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"one two"}]}`)
	var said strings.Builder
	var objects []apiResponse
	for line := range strings.Lines(got) {
		data, is := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !is || data == "[DONE]" {
			continue
		}
		var a apiResponse
		must(t, json.Unmarshal([]byte(data), &a))
		objects = append(objects, a)
		for _, c := range a.Choices {
			said.WriteString(c.Delta.Content)
		}
	}
	expect.Equal(t, "said.String", said.String(), "one two")
	expect.True(t, "it ends with [DONE]", strings.HasSuffix(got, "data: [DONE]\n\n"), got)
	expect.Contains(t, "got", got, `"sotto":{"route":"local"`)
	last := objects[len(objects)-1]
	n := len(objects)
	at := expect.At(t, "%s", got)
	expect.Equal(at, "n", n, 5)
	expect.Equal(at, "objects[0].Choices[0].Delta.Role", objects[0].Choices[0].Delta.Role, "assistant")
	expect.Equal(at, "*objects[3].Choices[0].Finish", *objects[3].Choices[0].Finish, "stop")
	expect.Len(at, "last.Choices", last.Choices, 0)
	expect.Equal(at, "last.Usage.Total", last.Usage.Total, 2)
	for range 100 { // however early the model is done
		_, got = post(t, url+"/v1/completions", `{"model":"local","stream":true,"prompt":"one two"}`)
		if strings.Count(got, `"text":"`) != 3 || !strings.HasSuffix(got, "data: [DONE]\n\n") {
			t.Fatal(got)
		}
	}
}

// TestLocalErrors: what a model of this process cannot do is said, not ignored.
func TestLocalErrors(t *testing.T) {
	m := &parrot{}
	url := localGateway(t, m)
	messages := `"messages":[{"role":"user","content":"x"}]`
	for body, param := range map[string]string{
		`"n":2,` + messages:                                             "n",
		`"tools":[{"type":"function"}],` + messages:                     "tools",
		`"response_format":{"type":"json_object"},` + messages:          "response_format",
		`"logprobs":true,` + messages:                                   "logprobs",
		`"logprobs":false,"top_logprobs":3,` + messages:                 "top_logprobs",
		`"functions":[{"name":"f"}],` + messages:                        "functions",
		`"modalities":["text","audio"],` + messages:                     "modalities",
		`"audio":{"voice":"x"},` + messages:                             "audio",
		`"best_of":2,` + messages:                                       "best_of",
		`"stop":{"a":1},` + messages:                                    "stop",
		`"messages":[]`:                                                 "messages",
		`"messages":[{"role":"tool","content":"x"}]`:                    "messages",
		`"messages":[{"role":"user","content":[{"type":"image_url"}]}]`: "messages",
		`"max_tokens":0,` + messages:                                    "",
		`"temperature":-1,` + messages:                                  "",
		`"temperature":"hot",` + messages:                               "",
	} {
		r, got := post(t, url+"/v1/chat/completions", `{"model":"local",`+body+`}`)
		var shape struct{ Error Error }
		must(t, json.Unmarshal([]byte(got), &shape))
		found := ""
		if shape.Error.Param != nil {
			found = *shape.Error.Param
		}
		if r.StatusCode != 400 || found != param {
			t.Errorf("%s: %d %s", body, r.StatusCode, got)
		}
	}
	m.fails = &lm.ContextError{}
	if r, got := post(t, url+"/v1/chat/completions", `{"model":"local",`+messages+`}`); r.StatusCode != 400 || !strings.Contains(got, "context_length_exceeded") {
		t.Errorf("%d %s", r.StatusCode, got)
	}
	m.fails = errors.New("a secret of the model")
	r, got := post(t, url+"/v1/chat/completions", `{"model":"local",`+messages+`}`)
	if r.StatusCode != 502 || strings.Contains(got, "secret") {
		t.Errorf("%d %s", r.StatusCode, got)
	}
	r, got = post(t, url+"/v1/chat/completions", `{"model":"local","stream":true,`+messages+`}`)
	expect.Equal(t, "r.StatusCode", r.StatusCode, 502)
	expect.True(t, "no [DONE]", !strings.Contains(got, "[DONE]"), got)
	expect.Contains(t, "got", got, `"error":{`)
	expect.True(t, "no secret", !strings.Contains(got, "secret"), got)
	m.fails = &lm.ContextError{}
	if r, got := post(t, url+"/v1/chat/completions", `{"model":"local","stream":true,`+messages+`}`); r.StatusCode != 400 || !strings.Contains(got, "context_length_exceeded") {
		t.Errorf("%d %s", r.StatusCode, got)
	}
}

// TestConcurrentLocal: a client that does not read its stream keeps nobody waiting, and one that
// goes away ends its own.
func TestConcurrentLocal(t *testing.T) {
	url := localGateway(t, &parrot{})
	words := strings.Repeat("word ", 20000)
	body := fmt.Sprintf(`{"model":"local","stream":true,"max_tokens":%d,"messages":[{"role":"user","content":%q}]}`, maxTokens, words)
	for range 3 {
		r, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
		must(t, err)
		defer r.Body.Close() // not before the other was answered
	}
	if _, got := post(t, url+"/v1/completions", `{"model":"local","prompt":"one"}`); !strings.Contains(got, `"text":"one"`) {
		t.Error(got)
	}
}
