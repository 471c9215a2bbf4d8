package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/ui"
)

// client asks routes of a service, as one of its clients: its key, its limits and its ledger hold
// as for all others. It has no way to records of its own.
type client struct {
	service *gateway.Server
	// limit is the most ε that the session may be charged; 0 refuses routes that charge.
	limit float64

	// mu is held while a private answer is asked for, so that two do not spend the same rest.
	mu    sync.Mutex
	spent float64
	// charges are those that were counted, and paid the answers left of one, by route.
	charges map[string]bool
	paid    map[string]int64
}

// newClient returns one for the service that the operator names; nil without one.
func newClient(o Options) (*client, error) {
	if o.Service == "" {
		return nil, nil
	}
	key, err := o.Key.Read()
	if err != nil {
		return nil, ui.Usage("--service-key-env or --service-key-file: %w", err)
	}
	to, err := gateway.NewServer(o.Service, key, false)
	if err != nil {
		return nil, ui.Usage("--service: %w", err)
	}
	return &client{service: to, limit: o.Spending, charges: map[string]bool{}, paid: map[string]int64{}}, nil
}

// terms says what a session may spend.
func (a *client) terms() string {
	if a.limit == 0 {
		return "Routes that answer from private records charge a budget, and are refused here: the operator allowed no spending."
	}
	return fmt.Sprintf("Routes that answer from private records charge the budget of these records, for good; this session may be charged ε = %s in all, and is refused beyond that.", ui.Whole(a.limit))
}

// do sends a request, and reads its answer into out. What the service says of an error is for
// its clients to be told.
func (a *client) do(ctx context.Context, method, path string, body, out any) (status int, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	q, err := http.NewRequestWithContext(ctx, method, "http://service"+path, bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	q.Header.Set("Content-Type", "application/json")
	r, err := a.service.RoundTrip(q)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	if data, err = bounded.Read(r.Body, 1<<20); err != nil {
		return r.StatusCode, err
	}
	if r.StatusCode != http.StatusOK {
		var problem struct {
			Error struct{ Message string }
		}
		if json.Unmarshal(data, &problem) != nil || problem.Error.Message == "" {
			problem.Error.Message = "no reason was given"
		}
		return r.StatusCode, &toolError{fmt.Sprintf("the service answered %d: %s", r.StatusCode, problem.Error.Message)}
	}
	return r.StatusCode, json.Unmarshal(data, out)
}

// route is a route as the service lists it.
type route struct {
	ID    string         `json:"id"`
	About *gateway.About `json:"sotto"`
}

// routes lists those that the key may use.
func (a *client) routes(ctx context.Context) ([]gateway.About, error) {
	var all struct {
		Data []route `json:"data"`
	}
	if _, err := a.do(ctx, http.MethodGet, "/v1/models", nil, &all); err != nil {
		return nil, err
	}
	out := []gateway.About{}
	for _, r := range all.Data {
		if r.About != nil {
			out = append(out, *r.About)
		}
	}
	return out, nil
}

type askArguments struct {
	Route    string `json:"route" jsonschema:"the name of a route, as the tool releases lists them"`
	Question string `json:"question" jsonschema:"the question, as one text; with examples it is laid out as they are"`
}

// answer is an answer, and what it cost.
type answer struct {
	Answer string `json:"answer"`
	Route  string `json:"route"`
	// Release, Epsilon and Delta are of the examples that the answer was made with.
	Release string  `json:"release,omitempty"`
	Epsilon float64 `json:"release_epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	// Charged is the most ε that this answer was charged, Session what the session was in all, and
	// Left what it may still be.
	Charged float64 `json:"charged_epsilon"`
	Session float64 `json:"session_epsilon,omitempty"`
	Left    float64 `json:"session_epsilon_left,omitempty"`
	// BudgetSpent and BudgetLeft are of the budget that has least left.
	BudgetSpent float64  `json:"budget_spent,omitempty"`
	BudgetLeft  *float64 `json:"budget_left,omitempty"`
	// Paid is how many more answers the same charge pays for.
	Paid int64 `json:"answers_paid_for,omitempty"`
}

// completion is what a service answers.
type completion struct {
	Choices []struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
	} `json:"choices"`
	Sotto gateway.About `json:"sotto"`
}

// ask asks a route, if the session may pay for it.
func (a *client) ask(ctx context.Context, in askArguments) (any, error) {
	if err := store.CheckName(in.Route); err != nil {
		return nil, Tell(err)
	}
	if strings.TrimSpace(in.Question) == "" || len(in.Question) > 64<<10 {
		return nil, &toolError{"the question should have between 1 and 65,536 bytes"}
	}
	var found route
	if _, err := a.do(ctx, http.MethodGet, "/v1/models/"+in.Route, nil, &found); err != nil {
		return nil, err
	}
	if found.About == nil {
		return nil, &toolError{"the service does not say what its routes cost: it is older than this program"}
	}
	body := map[string]any{"model": in.Route, "messages": []map[string]string{{"role": "user", "content": in.Question}}}
	if price := found.About.Price; price != nil {
		return a.private(ctx, in.Route, *price, body)
	}
	body["max_tokens"] = 512
	var out completion
	if _, err := a.do(ctx, http.MethodPost, "/v1/chat/completions", body, &out); err != nil {
		return nil, err
	}
	if out.Sotto.Charge != "" { // the route was changed in between
		a.mu.Lock()
		a.spent += out.Sotto.Spent
		a.mu.Unlock()
	}
	return out.free()
}

// free is an answer that costs nothing.
func (c completion) free() (answer, error) {
	if len(c.Choices) == 0 {
		return answer{}, &toolError{"the answer of the service has no text"}
	}
	s := c.Sotto
	return answer{Answer: c.Choices[0].Message.Content, Route: s.Route, Release: s.Release, Epsilon: s.Epsilon, Delta: s.Delta}, nil
}

// private asks a route that charges. What it may cost at most is counted before, and what
// it did cost after: an answer that got lost counts in full.
func (a *client) private(ctx context.Context, route string, price gateway.Price, body any) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	cost := fmt.Sprintf("an answer of this route is charged up to ε = %s at δ = %s to the budget of its records", ui.AtMost(price.Epsilon), ui.Whole(price.Delta))
	if price.Answers > 1 {
		cost += fmt.Sprintf(", for %d answers together where the budget adds up charges", price.Answers)
	}
	worst := price.Epsilon
	if a.paid[route] > 0 {
		worst = 0
	}
	switch {
	case a.limit == 0:
		return nil, &toolError{cost + ", and the operator allowed no spending: they can with sotto mcp --allow-spending EPSILON"}
	case a.spent+worst > a.limit || a.spent >= a.limit && worst > 0:
		return nil, &toolError{fmt.Sprintf("%s; this session was charged ε = %s of the %s that the operator allows, and nothing was asked", cost, ui.AtMost(a.spent), ui.Whole(a.limit))}
	}
	var out completion
	status, err := a.do(ctx, http.MethodPost, "/v1/chat/completions", body, &out)
	if err != nil {
		// Refusals are not charged. What failed on the way, or within the service, may be.
		if status < 400 || status >= 500 {
			a.spent += worst
			a.paid[route] = 0
		}
		return nil, err
	}
	about, charged := out.Sotto, 0.0
	if !a.charges[about.Charge] {
		if a.charges[about.Charge] = true; about.Paid > 0 {
			charged = price.Epsilon // for several together
		} else {
			charged = price.One
		}
	}
	a.spent += charged
	a.paid[route] = about.Paid
	got, err := out.free()
	if err != nil {
		return nil, err
	}
	got.Charged, got.Session, got.Left = charged, a.spent, max(0, a.limit-a.spent)
	got.BudgetSpent, got.BudgetLeft, got.Paid = about.Spent, about.Left, about.Paid
	return got, nil
}
