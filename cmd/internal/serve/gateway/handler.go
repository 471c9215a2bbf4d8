package gateway

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// Options of a [Handler].
type Options struct {
	// Allow finds out whose request it is, and whether it may use a route; it gives an
	// [*Error] if not. It is asked about the route "" first, before anything of a request is read,
	// and then counts it. A nil Allow lets everybody in.
	Allow func(r *http.Request, route string) (who string, err error)
	// RefusePrivate refuses requests for routes that answer from records.
	RefusePrivate bool
	// Done, if set, is called with every request when it has ended.
	Done func(Record)
	// Largest is the size of requests, 8 MiB by default.
	Largest int64
	// Requests and Answers bound what is held at a time of requests, with what becomes of their
	// values, and of upstreams' answers. By default that is 128 MiB each, and 32 MiB of requests
	// and 64 MiB of answers for a client.
	Requests, Answers *bounded.Capacity
	// WriteTimeout is how long a client may take to read a part of an answer, 30 s by default.
	WriteTimeout time.Duration
	// UpstreamIdleTimeout is how long an upstream may say nothing within an answer, 5 minutes by default.
	UpstreamIdleTimeout time.Duration
}

// description is the API as OpenAPI has it.
//
//go:embed openapi.json
var description []byte

// Handler serves OpenAI's API.
type Handler struct {
	Options
	routes current
	kept   answerCache
	mux    *http.ServeMux
}

// New returns a handler that serves a table.
func New(t *Table, o Options) *Handler {
	o.Largest, o.WriteTimeout = cmp.Or(o.Largest, 8<<20), cmp.Or(o.WriteTimeout, 30*time.Second)
	o.UpstreamIdleTimeout = cmp.Or(o.UpstreamIdleTimeout, 5*time.Minute)
	if o.Requests == nil {
		o.Requests = &bounded.Capacity{All: 128 << 20, Each: 32 << 20}
	}
	if o.Answers == nil {
		o.Answers = &bounded.Capacity{All: 128 << 20, Each: 64 << 20}
	}
	h := &Handler{Options: o, mux: http.NewServeMux()}
	h.Use(t)
	h.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(description) // the client may be gone
	})
	h.mux.HandleFunc("GET /v1/models", h.models)
	h.mux.HandleFunc("GET /v1/models/{name...}", h.model)
	for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"} {
		h.mux.HandleFunc("POST "+path, h.forward)
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem(http.StatusNotFound, invalidRequest, "", "", "there is no such address, or it takes another method than %s", r.Method).write(w)
	})
	return h
}

// Use has new requests use other routes.
func (h *Handler) Use(t *Table) { h.routes.table.Store(t) }

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	var known *Error
	if !errors.As(err, &known) {
		known = problem(http.StatusInternalServerError, serverSide, "", "", "the request failed within the gateway")
	}
	known.write(w)
}

// allow checks whether a request may use a route.
func (h *Handler) allow(r *http.Request, route string) error {
	if h.Allow == nil {
		return nil
	}
	who, err := h.Allow(r, route)
	recordOf(r.Context()).Client = who
	return err
}

// listedModel is a route as OpenAI lists models.
type listedModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
	About   About  `json:"sotto"`
}

func (h *Handler) models(w http.ResponseWriter, r *http.Request) {
	recordOf(r.Context()).Path = "/v1/models"
	t := h.routes.table.Load()
	list := []listedModel{}
	for _, name := range t.names() {
		if h.allow(r, name) == nil {
			list = append(list, listedModel{name, "model", t.made.Unix(), "sotto", t.routes[name].About})
		}
	}
	if err := h.allow(r, ""); err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, struct {
		Object string        `json:"object"`
		Data   []listedModel `json:"data"`
	}{"list", list})
}

func (h *Handler) model(w http.ResponseWriter, r *http.Request) {
	recordOf(r.Context()).Path = "/v1/models"
	name := r.PathValue("name")
	if err := h.allow(r, name); err != nil {
		fail(w, err)
		return
	}
	route, err := h.routes.find(name)
	if err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, listedModel{name, "model", h.routes.table.Load().made.Unix(), "sotto", route.About})
}

func writeJSON(w http.ResponseWriter, v any) {
	data, err := marshal(v)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // the client may be gone
}

// forward hands a request on, with what its route adds, and its answer back.
func (h *Handler) forward(w http.ResponseWriter, r *http.Request) {
	record := recordOf(r.Context())
	record.Path = r.URL.Path
	if err := h.allow(r, ""); err != nil { // before anything is read, and it counts
		fail(w, err)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		// What a web page can send without asking first is not taken.
		problem(http.StatusUnsupportedMediaType, invalidRequest, "", "", "send the request as Content-Type: application/json").write(w)
		return
	}
	held := h.Requests.Hold(record.Client)
	defer held.Release()
	b, err := h.readBody(w, r, held)
	if err != nil {
		fail(w, err)
		return
	}
	name, err := b.text("model")
	if err == nil {
		err = h.allow(r, name)
	}
	if err != nil {
		fail(w, err)
		return
	}
	route, err := h.routes.find(name)
	if err != nil {
		fail(w, err)
		return
	}
	record.Route, record.Version = route.Name, route.About.Version
	if route.Private != nil && h.RefusePrivate {
		fail(w, Forbidden("this model answers from private records, each answer is charged to their budget, and this service lets everybody in without a key: anyone who runs it can start it with keys, or with --open-private"))
		return
	}
	if route.Private != nil {
		h.private(w, r, record.Client, route, b)
		return
	}
	if route.Judged != nil {
		h.judged(w, r, record.Client, route, b)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	answer, err := route.send(ctx, r.URL.Path, b)
	if err != nil {
		fail(w, err)
		return
	}
	answer.Body = newWatched(answer.Body, h.UpstreamIdleTimeout, cancel)
	defer answer.Body.Close()
	secret := ""
	if s, is := route.Upstream.(*Server); is {
		secret = s.key
	}
	about := route.About
	if _, own := route.Upstream.(*Local); own {
		about.Ignored = answer.Header[ignoredHeader]
	}
	if route.Shots != nil && r.URL.Path == chatPath {
		about.Unmeasured = unmeasured(b["messages"])
	}
	h.hand(w, answer, about, secret, record.Client)
}

// chatPath is that of conversations.
const chatPath = "/v1/chat/completions"

// send asks the upstream.
func (r *Route) send(ctx context.Context, path string, b body) (*http.Response, error) {
	b, err := r.add(ctx, path, b)
	if err != nil {
		return nil, err
	}
	data, err := marshal(b)
	if err != nil {
		return nil, err
	}
	if r.Shots != nil {
		ctx = context.WithValue(ctx, prefixKey{}, promptPrefix{r.Shots, path == chatPath})
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://upstream"+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept-Encoding", "identity")
	answer, err := r.Upstream.RoundTrip(q)
	if err == nil && (answer.StatusCode < 200 || answer.StatusCode > 599 || answer.Header.Get("Content-Encoding") != "") {
		answer.Body.Close()
		return nil, problem(http.StatusBadGateway, serverSide, "", "", "the model's server does not answer as OpenAI's API says")
	}
	if err != nil {
		if known := (*Error)(nil); errors.As(err, &known) {
			return nil, known
		}
		return nil, problem(http.StatusBadGateway, serverSide, "", "upstream_unreachable", "the model's server does not answer: try again later")
	}
	return answer, nil
}

// add puts the route's model and examples into a request.
func (r *Route) add(ctx context.Context, path string, b body) (body, error) {
	b, err := b.with("model", r.Model)
	if err != nil || r.Shots == nil {
		return b, err
	}
	switch path {
	case "/v1/chat/completions":
		list, err := r.Shots.chat(ctx, b["messages"])
		if err != nil {
			return nil, err
		}
		return b.with("messages", list)
	case "/v1/completions":
		text, err := r.Shots.prompt(ctx, b["prompt"])
		if err != nil {
			return nil, err
		}
		return b.with("prompt", text)
	}
	return nil, invalid("model", "the model %s has examples, which go before chats and completions only", r.Name)
}

// passed are headers of an upstream that clients get.
var passed = []string{"Content-Type", "Retry-After", "X-Request-Id", "Openai-Processing-Ms", "Openai-Version"}

// maxAnswer bounds what is held of an answer that is no stream. With a byte more, by which its end
// is found, it is what may be held for a client.
const maxAnswer = 64<<20 - 1

// hand passes an answer on to a client. secret is the upstream's key, which no client gets.
func (h *Handler) hand(w http.ResponseWriter, answer *http.Response, about About, secret, client string) {
	held := h.Answers.Hold(client)
	defer held.Release()
	for _, name := range passed {
		if v := answer.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	for name, values := range answer.Header {
		if strings.HasPrefix(name, "X-Ratelimit-") {
			w.Header()[name] = values
		}
	}
	about.headers(w.Header())
	note, err := marshal(about)
	if err != nil {
		fail(w, err)
		return
	}
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	switch {
	case answer.StatusCode >= 400:
		handError(w, answer, secret, held)
	case strings.EqualFold(strings.TrimSpace(kind), "text/event-stream"):
		h.handStream(w, answer, note, held)
	default:
		data, err := held.Read(answer.Body, -1, maxAnswer)
		if full(err) != nil {
			fail(w, full(err))
			return
		}
		if err != nil {
			fail(w, problem(http.StatusBadGateway, serverSide, "", "", "the model's server broke its answer off: try again"))
			return
		}
		if strings.HasSuffix(strings.TrimSpace(kind), "json") && json.Valid(data) {
			data = insert(data, "sotto", note)
		}
		w.WriteHeader(answer.StatusCode)
		h.write(w, data)
	}
}

// write writes a whole answer, which a client has to take in pieces in time.
func (h *Handler) write(w http.ResponseWriter, data []byte) {
	control := http.NewResponseController(w)
	for len(data) > 0 {
		_ = control.SetWriteDeadline(time.Now().Add(h.WriteTimeout)) // not of every writer
		n, err := w.Write(data[:min(len(data), 64<<10)])
		if err != nil {
			return
		}
		data = data[n:]
	}
	_ = control.SetWriteDeadline(time.Time{})
}

func (a About) headers(to http.Header) {
	to.Set("Sotto-Route", a.Route)
	to.Set("Sotto-Epsilon-Spent", strconv.FormatFloat(a.Spent, 'g', -1, 64))
	if a.Paid > 0 {
		to.Set("Sotto-Answers-In-Series", strconv.FormatInt(a.Paid, 10))
	}
	if len(a.Ignored) > 0 {
		to.Set("Sotto-Ignored", strings.Join(a.Ignored, ", "))
	}
	if len(a.Unmeasured) > 0 {
		to.Set("Sotto-Unmeasured", strings.Join(a.Unmeasured, ", "))
	}
	if a.Left != nil {
		to.Set("Sotto-Epsilon-Left", strconv.FormatFloat(*a.Left, 'g', -1, 64))
	}
	if a.Private {
		if a.Epsilon > 0 {
			to.Set("Sotto-Epsilon", strconv.FormatFloat(a.Epsilon, 'g', -1, 64))
		}
		to.Set("Sotto-Delta", strconv.FormatFloat(a.Delta, 'g', -1, 64))
	}
}

// handError passes an upstream's error on if it has OpenAI's shape, and else its status. What
// is wrong with the gateway's own key is not the client's to know.
func handError(w http.ResponseWriter, answer *http.Response, secret string, held *bounded.Reservation) {
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		problem(http.StatusBadGateway, serverSide, "", "", "the model's server does not let this gateway in: anyone who runs it should look at the upstream's key").write(w)
		return
	}
	data, err := held.Read(answer.Body, -1, 1<<20)
	var shape struct {
		Error json.RawMessage `json:"error"`
	}
	leaks := secret != "" && bytes.Contains(data, []byte(secret))
	if err == nil && !leaks && json.Unmarshal(data, &shape) == nil && len(shape.Error) > 0 && shape.Error[0] == '{' {
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(data) // the client may be gone
		return
	}
	status := answer.StatusCode
	if status >= 500 {
		status = http.StatusBadGateway
	}
	problem(status, serverSide, "", "", "the model's server refused with %d", answer.StatusCode).write(w)
}
