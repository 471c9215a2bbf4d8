package gateway

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Route is a model name that clients use.
type Route struct {
	// Name that requests give as their model.
	Name string
	// Upstream sends requests on, to Model there.
	Upstream http.RoundTripper
	Model    string
	// Shots go before every question; nil hands requests on as they are.
	Shots *Shots
	// Judged, if set, answers with them as their records judged, in place of the upstream.
	Judged *PromptAnswerer
	// Private answers from records, in place of an upstream.
	Private *Private
	// About says where the examples are from.
	About About
}

// About is what answers say of a route: its member "sotto".
type About struct {
	Route string `json:"route"`
	// Version of the route, and Release the name of what its examples are from.
	Version int64  `json:"version"`
	Release string `json:"release,omitempty"`
	// Private: the release has a guarantee, of Epsilon and Delta. An answer adds nothing to it.
	Private bool    `json:"private"`
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	// Spent is what asking costs: nothing with a release. With private answers it is the ε that
	// is spent of the data's budget, and Left what is left of it.
	Spent float64  `json:"epsilon_spent"`
	Left  *float64 `json:"epsilon_left,omitempty"`
	// Charge of the ledger that paid for the answer, and Paid how many more answers it pays for.
	Charge string `json:"charge,omitempty"`
	Paid   int64  `json:"answers_in_series,omitempty"`
	// Ignored are members of the request that had no effect.
	Ignored []string `json:"ignored,omitempty"`
	// Unmeasured is what the request had beside its question and the release: what the release is worth was
	// measured without.
	Unmeasured []string `json:"unmeasured,omitempty"`
	// Price is what private answers cost, where routes are listed.
	Price *Price `json:"price,omitempty"`
}

// Price is what a route's private answers cost the budget of the data, at most.
type Price struct {
	// Epsilon and Delta are of so many Answers together: where a budget adds up charges, the
	// first of them is charged for all. One is the ε of an answer that is charged by itself.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Answers int64   `json:"answers"`
	One     float64 `json:"epsilon_one"`
}

// Table is the routes of a gateway at a moment.
type Table struct {
	routes map[string]*Route
	made   time.Time
}

// NewTable checks routes.
func NewTable(routes []*Route) (*Table, error) {
	t := &Table{routes: map[string]*Route{}, made: time.Now()}
	for _, r := range routes {
		switch {
		case (r.Upstream == nil) == (r.Private == nil):
			return nil, fmt.Errorf("the route %s should have an upstream, or answer from records", r.Name)
		case t.routes[r.Name] != nil:
			return nil, fmt.Errorf("there are two routes %s", r.Name)
		}
		t.routes[r.Name] = r
	}
	return t, nil
}

// names returns those of all routes, sorted.
func (t *Table) names() []string { return slices.Sorted(maps.Keys(t.routes)) }

// current is the table that new requests use.
type current struct{ table atomic.Pointer[Table] }

// find looks a route up.
func (c *current) find(name string) (*Route, error) {
	if name == "" {
		return nil, invalid("model", `"model" is missing: name a route; GET /v1/models lists them`)
	}
	if r := c.table.Load().routes[name]; r != nil {
		return r, nil
	}
	return nil, problem(http.StatusNotFound, invalidRequest, "model", "model_not_found", "there is no model of that name: GET /v1/models lists those there are")
}
