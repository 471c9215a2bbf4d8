package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/prompt"
)

// Ask asks a route a question, for people who try it out: with its examples, or with its
// instruction alone. It costs no privacy, and is refused by a route that answers from records.
func (h *Handler) Ask(ctx context.Context, name, question string, examples bool) (string, error) {
	route, err := h.routes.find(name)
	if err != nil {
		return "", err
	}
	if route.Private != nil {
		return "", errors.New("the route answers from private records, and each answer is charged: ask it with a key")
	}
	if examples && route.Judged != nil {
		text, _, err := route.Judged.answer(ctx, "", question)
		return text, err
	}
	messages, err := json.Marshal([]prompt.Turn{{Role: prompt.UserRole, Content: question}})
	if err != nil {
		return "", err
	}
	to := &Route{Name: route.Name, Upstream: route.Upstream, Model: route.Model, Shots: route.Shots}
	if !examples && route.Shots != nil {
		to.Shots = &Shots{task: route.Shots.task}
	}
	return to.text(ctx, "/v1/chat/completions", body{"model": json.RawMessage(`""`), "messages": messages, "max_tokens": json.RawMessage("256"), "temperature": json.RawMessage("0")})
}

// text sends a request that is answered at once, and returns the text of its answer.
func (r *Route) text(ctx context.Context, path string, b body) (string, error) {
	answer, err := r.send(ctx, path, b)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	data, err := bounded.Read(answer.Body, 1<<20)
	if err != nil || answer.StatusCode != http.StatusOK {
		return "", problem(http.StatusBadGateway, serverSide, "", "", "the upstream gave no answer")
	}
	text := said(data)
	if text == "" {
		return "", problem(http.StatusBadGateway, serverSide, "", "", "the upstream's answer has no text")
	}
	return text, nil
}

// said returns the text of an answer; "" if it has none.
func said(data []byte) string {
	var a apiResponse
	if bounded.Count(data) > maxValues || json.Unmarshal(data, &a) != nil || len(a.Choices) == 0 {
		return ""
	}
	switch c := a.Choices[0]; {
	case c.Message != nil:
		return c.Message.Content
	case c.Text != nil:
		return *c.Text
	}
	return ""
}
