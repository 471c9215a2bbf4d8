package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// Local is an upstream in this process: a model and a sentence encoder, each opened when it is
// asked for the first time. Texts of several requests are written at once, where the model says that
// they do not depend on each other, and what the requests of a route begin with is computed once.
type Local struct {
	Open    func(context.Context) (lm.Model, error)
	Encoder func() (lm.Embedder, error)
	// Turns are those of the model.
	Turns *Turns
	// Keep bounds the memory of what routes' requests begin with, in bytes. 0 is a gigabyte, and at most a quarter
	// of what is free when the model is opened.
	Keep int64

	// What follows is of the one who has the turn.
	model   lm.Model
	encoder lm.Embedder
	session lm.Session // of texts, and of what they begin with
	begun   prefixCaches

	mu      sync.Mutex
	queue   []*textRequest
	writing bool // somebody writes for those in the queue
}

// open returns the model, to anyone who has the turn.
func (l *Local) open(ctx context.Context) (_ lm.Model, err error) {
	if l.model == nil {
		l.model, err = l.Open(context.WithoutCancel(ctx))
	}
	if err != nil {
		return nil, problem(http.StatusServiceUnavailable, serverSide, "", "", "the model in this program cannot be opened: sotto model show says why")
	}
	if l.begun.maxBytes == 0 {
		l.begun.maxBytes = bound(l.Keep)
	}
	return l.model, nil
}

// Close frees the model and the encoder.
func (l *Local) Close() (err error) {
	if err := l.Turns.Take(context.Background(), ""); err != nil {
		return err
	}
	defer l.Turns.Give()
	err = l.reset()
	if l.model != nil {
		err = errors.Join(err, l.model.Close())
	}
	if l.encoder != nil {
		err = errors.Join(err, l.encoder.Close())
	}
	l.model, l.encoder = nil, nil
	return err
}

// localRequest is what it understands of a request. What would change an answer's shape is refused, and
// answers say what else was ignored.
type localRequest struct {
	Model         string          `json:"model"`
	Messages      []turn          `json:"messages"`
	Prompt        json.RawMessage `json:"prompt"`
	Input         json.RawMessage `json:"input"`
	Encoding      string          `json:"encoding_format"`
	Stream        bool            `json:"stream"`
	MaxTokens     *int            `json:"max_tokens"`
	MaxNew        *int            `json:"max_completion_tokens"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	Seed          *int64          `json:"seed"`
	Stop          json.RawMessage `json:"stop"`
	StreamOptions *struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	shape
	Dimensions *int `json:"dimensions"`
}

// heeded are the members of a request for a text that Local heeds or refuses, or that change nothing about
// an answer; embeds are those of one for vectors.
var (
	heeded = append([]string{"max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop"}, understood...)
	embeds = []string{"model", "input", "encoding_format", "dimensions", "user"}
)

// ignoredHeader is how Local says which members of a request had no effect. It is of this process: what other
// upstreams call so is not read.
const ignoredHeader = "Sotto-Ignored"

// defaultTokens is the length of answers to requests that do not say, maxTokens the largest
// there is.
const (
	defaultTokens = 256
	maxTokens     = 1 << 15
)

// RoundTrip answers a request.
func (l *Local) RoundTrip(r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var q localRequest
	if err := json.Unmarshal(data, &q); err != nil {
		return nil, invalid("", "a member of the request has another kind than OpenAI's API says")
	}
	var members body
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	if r.URL.Path == "/v1/embeddings" {
		return saying(members.besides(embeds))(l.embed(r.Context(), q))
	}
	g := &generation{model: cmp.Or(q.Model, recordOf(r.Context()).Route, "embedded"), usage: q.StreamOptions != nil && q.StreamOptions.Usage, chat: r.URL.Path == "/v1/chat/completions", id: newID(), created: time.Now().Unix()}
	g.write = func(ctx context.Context, onText func(int, string) error) (lm.Text, counts, error) {
		return l.generate(ctx, g, onText)
	}
	if !g.chat && r.URL.Path != "/v1/completions" {
		return nil, problem(http.StatusNotFound, invalidRequest, "", "", "the model in this program answers chats, completions and embeddings, and nothing else")
	}
	if g.prompt, g.options, err = q.read(g.chat); err != nil {
		return nil, err
	}
	return saying(members.besides(heeded))(g.answer(r.Context(), q.Stream))
}

// saying has an answer name members of its request that were ignored.
func saying(ignored []string) func(*http.Response, error) (*http.Response, error) {
	return func(r *http.Response, err error) (*http.Response, error) {
		if err == nil {
			r.Header[ignoredHeader] = ignored
		}
		return r, err
	}
}

// read turns a request into a prompt and options.
func (q localRequest) read(chat bool) (p lm.Prompt, o lm.GenerateOptions, err error) {
	if err := q.refuse("the model in this program gives one text, and nothing beside it"); err != nil {
		return p, o, err
	}
	o = lm.GenerateOptions{MaxTokens: defaultTokens, Temperature: 1}
	for _, n := range []*int{q.MaxTokens, q.MaxNew} {
		if n != nil {
			o.MaxTokens = *n
		}
	}
	if q.Temperature != nil {
		o.Temperature = *q.Temperature
	}
	if q.TopP != nil {
		o.TopP = *q.TopP
	}
	if q.Seed != nil {
		o.Seed = uint64(*q.Seed)
	} else {
		var seed [8]byte
		_, _ = rand.Read(seed[:]) // never fails
		o.Seed = binary.LittleEndian.Uint64(seed[:])
	}
	if o.Stop, err = oneOrMore(q.Stop); err != nil {
		return p, o, invalid("stop", `"stop" should be a string or a list of strings`)
	}
	if err := o.Check(); err != nil {
		return p, o, invalid("", "%s", err)
	}
	if o.MaxTokens > maxTokens {
		return p, o, invalid("max_tokens", "the model in this program writes at most %d tokens", maxTokens)
	}
	if !chat {
		if json.Unmarshal(q.Prompt, &p.Text) != nil || p.Text == "" {
			return p, o, invalid("prompt", `"prompt" should be one string with something in it`)
		}
		return p, o, nil
	}
	for i, t := range q.Messages {
		text, ok := t.text()
		role := map[string]lm.Role{"system": lm.System, "developer": lm.System, "user": lm.User, "assistant": lm.Assistant}[t.Role]
		if !ok || role == "" {
			return p, o, invalid("messages", "message %d should be text of system, user or assistant: the model in this program takes nothing else", i+1)
		}
		p.Messages = append(p.Messages, lm.Message{Role: role, Content: text})
	}
	if len(p.Messages) == 0 {
		return p, o, invalid("messages", `"messages" should be a list of messages, one or more`)
	}
	return p, o, nil
}

// oneOrMore reads a string or a list of strings.
func oneOrMore(raw json.RawMessage) (list []string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	return list, json.Unmarshal(raw, &list)
}

// maxInputs is how many texts are embedded at a time, as OpenAI has it: a vector is a hundred times as
// large as a short text.
const maxInputs = 2048

// embed answers with vectors.
func (l *Local) embed(ctx context.Context, q localRequest) (*http.Response, error) {
	texts, err := oneOrMore(q.Input)
	if err != nil || len(texts) == 0 {
		return nil, invalid("input", `"input" should be a string or a list of strings`)
	}
	if len(texts) > maxInputs {
		return nil, invalid("input", `"input" should have at most %d strings: send them in parts`, maxInputs)
	}
	if err := l.Turns.Take(ctx, recordOf(ctx).Client); err != nil {
		return nil, err
	}
	defer l.Turns.Give()
	if l.encoder == nil {
		if l.encoder, err = l.Encoder(); err != nil {
			l.encoder = nil
			return nil, problem(http.StatusServiceUnavailable, serverSide, "", "", "the sentence encoder cannot be opened: sotto model pull minilm gets it")
		}
	}
	if n := q.Dimensions; n != nil && *n != l.encoder.Dimension() {
		return nil, invalid("dimensions", "vectors of this encoder have %d numbers: leave out \"dimensions\"", l.encoder.Dimension())
	}
	vectors, err := l.encoder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	type vector struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"`
	}
	out := struct {
		Object string   `json:"object"`
		Data   []vector `json:"data"`
		Model  string   `json:"model"`
		Usage  counts   `json:"usage"`
	}{Object: "list", Model: l.encoder.Name()}
	for i, v := range vectors {
		var numbers any = v
		if q.Encoding == "base64" {
			numbers = base64.StdEncoding.EncodeToString(littleEndian(v))
		}
		out.Data = append(out.Data, vector{"embedding", i, numbers})
	}
	data, err := marshal(out)
	if err != nil {
		return nil, err
	}
	return response("application/json", io.NopCloser(bytes.NewReader(data))), nil
}

// littleEndian is how clients want vectors as base64.
func littleEndian(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}
