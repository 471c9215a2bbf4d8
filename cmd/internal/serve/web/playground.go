package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/sys/fault"
)

func (d *Dashboard) playgroundRoutes() []route {
	return []route{
		{"GET /playground", store.Operator, d.playgroundPage},
		{"POST /playground", store.Operator, d.play},
	}
}

// playData is what the playground shows.
type playData struct {
	Routes   []string
	Route    string
	Question string
	// Answers, without the release's examples and with them.
	Answers []playAnswer
}

// playAnswer is an answer, or why there is none.
type playAnswer struct {
	Title, Text string
	Problem     string
	Took        string
}

// playable are the routes that can be tried out: those with an upstream.
func (d *Dashboard) playable(v *visit) ([]string, error) {
	all, err := d.Store.Routes(v.ctx(), true)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range all {
		if r.Spec.Answers == nil {
			names = append(names, r.Name)
		}
	}
	return names, nil
}

func (d *Dashboard) playgroundPage(v *visit) error {
	names, err := d.playable(v)
	if err != nil {
		return err
	}
	if d.Ask == nil {
		names = nil
	}
	v.render(http.StatusOK, "playground", page{Title: "Playground", Here: "/playground", Data: playData{Routes: names, Route: v.URL.Query().Get("route")}})
	return nil
}

// playTime is how long an answer may take.
const playTime = 2 * time.Minute

// playsAMinute is how many questions an account may ask: the playground is for trying out, and
// clients have keys with limits of their own.
const playsAMinute = 20

// plays are the questions of the last minute by account.
type plays struct {
	mu    sync.Mutex
	asked map[string][]time.Time
}

// take counts a question, and reports whether there were not too many.
func (p *plays) take(account string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked = map[string][]time.Time{}
	}
	recent := slices.DeleteFunc(p.asked[account], func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	may := len(recent) < playsAMinute
	if may {
		recent = append(recent, now)
	}
	p.asked[account] = recent
	return may
}

// play asks a route twice, with its examples and without.
func (d *Dashboard) play(v *visit) error {
	names, err := d.playable(v)
	if err != nil {
		return err
	}
	data := playData{Routes: names, Route: v.PostForm.Get("route"), Question: strings.TrimSpace(v.PostForm.Get("question"))}
	switch {
	case d.Ask == nil:
		return errNotFound
	case !slices.Contains(names, data.Route):
		return &problem{http.StatusBadRequest, "There is no such route, or it answers from private records: those are asked with a key, and each answer is charged."}
	case data.Question == "" || len(data.Question) > 20000:
		return &problem{http.StatusBadRequest, "Write a question, of at most 20,000 letters."}
	}
	if !d.played.take(v.account.Name, d.Now()) {
		v.Header().Set("Retry-After", "60")
		return &problem{http.StatusTooManyRequests, "You asked many questions in a minute. Wait a while."}
	}
	// Who asked which route is noted, and never what.
	if err := d.Store.Note(v.ctx(), v.account.Actor(), "ask route", data.Route); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(v.ctx(), playTime)
	defer cancel()
	data.Answers = []playAnswer{{Title: "With the instruction alone"}, {Title: "With the release's examples"}}
	var both sync.WaitGroup
	for i := range data.Answers {
		both.Go(func() {
			defer fault.Watch()
			d.ask(ctx, &data.Answers[i], data.Route, data.Question, i == 1)
		})
	}
	both.Wait()
	v.render(http.StatusOK, "playground", page{Title: "Playground", Here: "/playground", Data: data})
	return nil
}

func (d *Dashboard) ask(ctx context.Context, a *playAnswer, route, question string, examples bool) {
	began := d.Now()
	text, err := d.Ask(ctx, route, question, examples)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		a.Problem = "It took longer than two minutes."
	case err != nil:
		a.Problem = "There is no answer: the upstream does not answer, or it refused. The service's log may say more."
		d.Log.Warn("the playground has no answer", "route", route)
	default:
		a.Text, a.Took = text, d.Now().Sub(began).Round(10*time.Millisecond).String()
	}
}
