package start

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	service "github.com/sotto-dp/sotto/cmd/internal/serve"
	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/reply"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// evaluate answers held-out messages, the same for all that is compared.
func (d *demoRun) evaluate(ctx context.Context) (err error) {
	held := demo.Repairs().HeldOut(d.items)
	d.result.Items, d.result.sets, d.result.shots = len(held), d.sets, d.questions[0].request.Task.Limits.Shots
	clients, err := d.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clients.close()) }()
	for _, q := range d.questions {
		err := q.compare(d.sets, func(set worth.Set) (float64, error) { return d.accuracy(ctx, q, set, held) },
			func() (float64, error) { return clients.accuracy(ctx, q, held) })
		if err != nil {
			return err
		}
		d.say("%s: with no examples %.0f %% of %d messages are right, as clients of the gateway get it %.0f %%", q.name, 100*q.result.row(demoNone), len(held), 100*q.result.row(demoChosen))
		d.result.Questions = append(d.result.Questions, q.result)
	}
	return nil
}

// compare measures no examples, sets that were written by hand, the evidence alone, what was chosen as clients
// get it, and sets of real messages.
func (q *demoQuestion) compare(sets int, accuracy func(worth.Set) (float64, error), served func() (float64, error)) error {
	shots := q.request.Task.Limits.Shots
	of := func(name string, examples []prompt.Example) error {
		return q.sets(name, sets, shots, examples, accuracy)
	}
	one := func(name string, of func() (float64, error)) error {
		value, err := of()
		q.result.Rows = append(q.result.Rows, demoRow{Name: name, Accuracy: value})
		return err
	}
	if err := one(demoNone, func() (float64, error) { return accuracy(q.compared(nil)) }); err != nil {
		return err
	}
	if err := of(demoMade, q.made); err != nil {
		return err
	}
	if !q.request.Task.Open() {
		said, err := evidence.Read(filepath.Join(q.release, evidence.File))
		if err != nil {
			return err
		}
		alone := worth.Set{Name: demoClassifier, Evidence: said, Chosen: &prompt.Prompt{Evidence: prompt.Use{How: prompt.Alone}}}
		if err := one(demoClassifier, func() (float64, error) { return accuracy(alone) }); err != nil {
			return err
		}
	}
	if err := one(demoChosen, served); err != nil {
		return err
	}
	// Tickets come in blocks that have every label once.
	return of(demoReal, demoExamples(demo.Repairs().Tickets(sets*shots), q.of))
}

// sets measures sets of examples, one after the other.
func (q *demoQuestion) sets(name string, sets, shots int, examples []prompt.Example, accuracy func(worth.Set) (float64, error)) error {
	row := demoRow{Name: name}
	for s := range sets {
		value, err := accuracy(q.compared(examples[s*shots : (s+1)*shots]))
		if err != nil {
			return err
		}
		row.Sets = append(row.Sets, value)
	}
	row.Accuracy, row.Std = stat.Mean(row.Sets), stat.Std(row.Sets)
	q.result.Rows = append(q.result.Rows, row)
	return nil
}

// compared is what the chosen prompt is compared with: only the examples differ.
func (q *demoQuestion) compared(examples []prompt.Example) worth.Set {
	asked := &prompt.Prompt{Form: prompt.TextForm, Calibrated: !q.request.Task.Open()}
	return worth.Set{Name: "the demo", Examples: examples, Chosen: asked}
}

// accuracy is the share of messages that are answered rightly, measured as "sotto eval" does.
func (d *demoRun) accuracy(ctx context.Context, q *demoQuestion, set worth.Set, messages []demo.Ticket) (float64, error) {
	e := &worth.Evaluation{
		Task: q.request.Task, Model: d.model.Public(), Form: prompt.TextForm,
		Vectors: func() (lm.Embedder, error) { return d.encoder, nil },
	}
	for _, m := range messages {
		e.Items = append(e.Items, eval.Item{Input: m.Text, Output: q.of(m)})
	}
	row, err := e.Row(ctx, set)
	return row.Value, err
}

// demoGateway is the gateway of "sotto serve" with a route for each question, on a free port of this machine.
type demoGateway struct {
	url     string
	server  *http.Server
	builder *service.Builder
}

// serve makes the routes as "sotto serve" does, on the model of this process.
func (d *demoRun) serve(ctx context.Context) (*demoGateway, error) {
	local := &gateway.Local{
		Turns:   &gateway.Turns{},
		Open:    func(context.Context) (lm.Model, error) { return d.model.Public(), nil },
		Encoder: func() (lm.Embedder, error) { return d.encoder, nil },
	}
	g := &demoGateway{builder: &service.Builder{
		Upstreams: map[string]http.RoundTripper{service.Embedded: local}, Task: d.taskOf, Verify: d.client.Verify, Encoder: local.Encoder,
	}}
	var routes []store.Route
	for _, q := range d.questions {
		routes = append(routes, store.Route{Name: q.name, Version: 1, Spec: store.RouteSpec{Upstream: service.Embedded, Release: q.release, Task: q.name}})
	}
	table, err := g.builder.Table(ctx, routes)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.builder.Close()
		return nil, fmt.Errorf("serve the demo: %w", err)
	}
	g.url = "http://" + listener.Addr().String() + "/v1/chat/completions"
	g.server = &http.Server{Handler: gateway.New(table, gateway.Options{}), ReadHeaderTimeout: time.Minute}
	go func() {
		defer fault.Watch()
		_ = g.server.Serve(listener) // until it is closed
	}()
	return g, nil
}

func (d *demoRun) taskOf(name string) (prompt.Task, error) {
	for _, q := range d.questions {
		if q.name == name {
			return q.request.Task, nil
		}
	}
	return prompt.Task{}, fmt.Errorf("the demo has no task %q", name)
}

func (g *demoGateway) close() error {
	err := g.server.Close()
	g.builder.Close()
	return err
}

// accuracy is the share of messages whose answer a client reads rightly.
func (g *demoGateway) accuracy(ctx context.Context, q *demoQuestion, messages []demo.Ticket) (float64, error) {
	right := 0
	for _, m := range messages {
		got, err := g.ask(ctx, q.name, m.Text)
		if err != nil {
			return 0, err
		}
		if reply.Same(q.of(m), reply.Read(q.request.Task, got)) {
			right++
		}
	}
	return float64(right) / float64(max(1, len(messages))), nil
}

// ask sends a message as any client of OpenAI's API does: the message alone, in one turn.
func (g *demoGateway) ask(ctx context.Context, route, text string) (string, error) {
	type turn struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(struct {
		Model    string `json:"model"`
		Messages []turn `json:"messages"`
	}{route, []turn{{"user", text}}})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", fmt.Errorf("ask the gateway of the demo: %w", err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return "", fmt.Errorf("ask the gateway of the demo: %w", err)
	}
	var got struct {
		Choices []struct {
			Message turn `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &got); err != nil || answer.StatusCode != http.StatusOK || len(got.Choices) != 1 {
		return "", fmt.Errorf("the gateway of the demo does not answer: status %d", answer.StatusCode)
	}
	return got.Choices[0].Message.Content, nil
}
