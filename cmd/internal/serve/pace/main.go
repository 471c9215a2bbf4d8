// Command pace measures what others see of how long a private answer takes to write. It serves a
// route that answers from made-up records with the embedded model, asks it one question after the
// other, and polls /healthz from another process meanwhile. From the latencies of these probes
// alone it estimates when each answer was written, in several ways, and prints how the estimates
// correlate with when it was, and with how many tokens went through the model for it, which is what
// nobody is to know. On a machine that others use the first shows more than there is to see: what
// slows an answer down slows the probes down, too.
//
//	go run ./cmd/internal/serve/pace -n 30          # as sotto serve does it
//	go run ./cmd/internal/serve/pace -n 30 -idle    # processors rest once an answer is written, as they once did
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/serve"
	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/sys/fault"
)

type options struct {
	model, method   string
	n, batch        int
	threads, tokens int
	pace            time.Duration
	idle            bool
}

func main() {
	log.SetFlags(0)
	var o options
	probing := flag.String("probe", "", "poll this address until the input ends (for itself)")
	flag.StringVar(&o.model, "model", "", "the embedded model; the default one if empty")
	flag.StringVar(&o.method, "method", "vote", "how records answer: vote, or a method that writes")
	flag.IntVar(&o.n, "n", 30, "answers")
	flag.IntVar(&o.batch, "batch", 16, "records for an answer, on average")
	flag.IntVar(&o.threads, "threads", 0, "threads of the model; all processors if 0")
	flag.IntVar(&o.tokens, "max-tokens", 0, "of a written answer; the task's limit if 0")
	flag.DurationVar(&o.pace, "pace", 0, "the pace; what the plan needs if 0")
	flag.BoolVar(&o.idle, "idle", false, "let processors rest once an answer is written")
	flag.Parse()
	if *probing != "" {
		probe(*probing)
		return
	}
	if err := measure(context.Background(), o); err != nil {
		log.Fatal(err)
	}
}

// stepTimer is a model that notes when its last step ended.
type stepTimer struct {
	lm.Scorer
	last *atomic.Int64
}

type sessionTimer struct {
	lm.Session
	last *atomic.Int64
}

func (m stepTimer) Open(ctx context.Context) (lm.Session, error) {
	s, err := m.Scorer.Open(ctx)
	return sessionTimer{s, m.last}, err
}

func (s sessionTimer) Step(ctx context.Context, steps []lm.Step) ([]lm.Scores, error) {
	out, err := s.Session.Step(ctx, steps)
	s.last.Store(time.Now().UnixNano())
	return out, err
}

// occupierTimer is one that keeps processors at work, too.
type occupierTimer struct {
	stepTimer
	lm.Occupier
}

var words = strings.Fields("the order number is missing and I can not see my account since the payment on monday failed twice please help me with this problem soon")

func sentence(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(words[rand.IntN(len(words))] + " ")
	}
	return strings.TrimSpace(b.String())
}

const size = 2000

// records writes made-up ones, of many lengths, and returns their task.
func records(o options, path string) (prompt.Task, error) {
	t := prompt.Task{
		Name: "teams", Kind: prompt.Classify, Text: "text", Label: "team", Labels: []string{"billing", "login"},
		Generate: prompt.Generation{Instruction: "Write a message to a team."}, Answer: prompt.AnswerLayout{Instruction: "Which team is the message for?", Input: "Message", Output: "Team"},
	}
	if o.method != "vote" {
		t = prompt.Task{
			Name: "replies", Kind: prompt.Generate, Text: "reply", Label: "text",
			Generate: prompt.Generation{Instruction: "Write a reply to a message."}, Answer: prompt.AnswerLayout{Instruction: "Reply to the message.", Input: "Message", Output: "Reply"},
		}
	}
	t.Limits = prompt.Limits{RecordTokens: 80, InputTokens: 80}
	var b bytes.Buffer
	for i := range size {
		line, err := json.Marshal(map[string]string{"text": sentence(5 + rand.IntN(55)), "team": []string{"billing", "login"}[i%2], "reply": sentence(10)})
		if err != nil {
			return t, err
		}
		b.Write(append(line, '\n'))
	}
	return t.WithDefaults(), os.WriteFile(path, b.Bytes(), 0o600)
}

// service is what is measured.
type service struct {
	address string
	pace    time.Duration
	last    atomic.Int64 // when the model's last step ended
	usage   func() lm.Usage
	stop    func() error
}

func start(ctx context.Context, dir string, o options) (*service, error) {
	opened, err := backend.Trusted(ctx, backend.Spec{Model: o.model, Threads: o.threads})
	if err != nil {
		return nil, err
	}
	s := &service{usage: opened.Usage}
	var scorer lm.Scorer = stepTimer{opened.Public(), &s.last}
	if occupier, can := opened.Public().(lm.Occupier); can && !o.idle {
		scorer = occupierTimer{stepTimer{opened.Public(), &s.last}, occupier}
	}
	model, err := lm.Trust(scorer, lm.InProcess)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "records.jsonl")
	task, err := records(o, data)
	if err != nil {
		return nil, err
	}
	planned, err := plan.NewAnswers(plan.Request{Task: task, Method: o.method, Size: size, Epsilon: 1e3, Delta: 1e-6, Answers: int64(o.n + 1), Tokens: o.tokens, Settings: method.Values{"batch": o.batch}})
	if err != nil {
		return nil, err
	}
	spec := &store.AnswerSpec{Data: data, Pace: o.pace}
	if spec.Plan, err = json.Marshal(planned); err != nil {
		return nil, err
	}
	client, err := sotto.Open(dir, &sotto.Options{Trusted: model})
	if err != nil {
		return nil, err
	}
	records := &serve.Records{Client: client, Model: model, Turns: &gateway.Turns{}, Encoder: func() (lm.TrustedEmbedder, error) { return backend.TrustedEncoder("") }, Source: func(_ string, a store.AnswerSpec) (sotto.Source, error) {
		return sotto.Source{Location: a.Data}, nil
	}}
	builder := &serve.Builder{Records: func(context.Context) (*serve.Records, error) { return records, nil }}
	needed, err := builder.Pace(ctx, *spec)
	if err != nil {
		return nil, err
	}
	if spec.Pace == 0 {
		spec.Pace = needed
	}
	s.pace = spec.Pace
	fmt.Printf("the plan needs a pace of %v; it is %v\n", needed, s.pace)
	kept, err := store.Open(ctx, filepath.Join(dir, "service.db"), true)
	if err != nil {
		return nil, err
	}
	if _, err := kept.SetRoute(ctx, "bench", "ask", store.RouteSpec{Answers: spec}); err != nil {
		return nil, err
	}
	server, err := serve.New(ctx, serve.Options{Listen: "127.0.0.1:0", Open: true, Store: kept, Builder: builder, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	listening, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		defer fault.Watch()
		ended <- server.Run(running, func(clients, _ net.Addr) { listening <- clients })
	}()
	select {
	case at := <-listening:
		s.address = "http://" + at.String()
	case err := <-ended:
		cancel()
		return nil, err
	}
	s.stop = func() error {
		cancel()
		return <-ended
	}
	return s, nil
}

// timing is an answer: when it was asked for, how long it took to write and to come, and how many
// tokens went through the model for it.
type timing struct {
	began       time.Time
	wrote, took time.Duration
	tokens      int64
}

// ask asks a question.
func (s *service) ask() (a timing, err error) {
	before := s.usage().Computed
	body := fmt.Sprintf(`{"model":"ask","messages":[{"role":"user","content":%q}]}`, sentence(12))
	a.began = time.Now()
	r, err := http.Post(s.address+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return a, err
	}
	defer r.Body.Close()
	if answer, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK {
		return a, errors.Join(fmt.Errorf("%s: %s", r.Status, answer), err)
	}
	a.wrote, a.took, a.tokens = time.Unix(0, s.last.Load()).Sub(a.began), time.Since(a.began), s.usage().Computed-before
	return a, nil
}
