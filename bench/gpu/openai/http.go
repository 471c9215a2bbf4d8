package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sotto-dp/sotto/lm"
)

// Handler answers chat completions, completions and the list of models.
func (b *Batcher) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { b.answer(w, r, true) })
	mux.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, r *http.Request) { b.answer(w, r, false) })
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": b.model.Info().Name, "object": "model", "owned_by": "sotto"}}})
	})
	return mux
}

// request is what is understood of a request. What else there is in it (users, penalties) is
// passed over, but for what would give another text than was asked for.
type request struct {
	Messages            []message       `json:"messages"`
	Prompt              string          `json:"prompt"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	Seed                uint64          `json:"seed"`
	Stop                json.RawMessage `json:"stop"`
	N                   *int            `json:"n"`
	Stream              bool            `json:"stream"`
	Format              *struct {
		Type string `json:"type"`
	} `json:"response_format"`
	Tools json.RawMessage `json:"tools"`
}

// message of a chat: its content is a string, or parts that are texts.
type message struct {
	Role    lm.Role         `json:"role"`
	Content json.RawMessage `json:"content"`
}

const (
	longest = 1 << 24 // bytes of a request
	usual   = 256     // tokens to write unless told
)

func (b *Batcher) answer(w http.ResponseWriter, r *http.Request, chat bool) {
	b.requests.Add(1)
	refuse := func(err error) {
		b.failures.Add(1)
		reply(w, http.StatusBadRequest, failure(err, "invalid_request_error"))
	}
	var asked request
	if err := json.NewDecoder(io.LimitReader(r.Body, longest)).Decode(&asked); err != nil {
		refuse(fmt.Errorf("the request is no JSON that is understood: %w", err))
		return
	}
	o, err := asked.options()
	if err != nil {
		refuse(err)
		return
	}
	tokens, err := b.prompt(r.Context(), asked, chat)
	if err != nil {
		refuse(err)
		return
	}
	text, err := b.Write(r.Context(), tokens, o)
	var long *lm.ContextError
	switch {
	case errors.As(err, &long):
		refuse(err)
		return
	case err != nil:
		b.failures.Add(1)
		reply(w, http.StatusInternalServerError, failure(err, "server_error"))
		return
	}
	finish := "stop"
	if text.Finish == lm.FinishLength {
		finish = "length"
	}
	choice := map[string]any{"index": 0, "finish_reason": finish}
	kind := "text_completion"
	if chat {
		kind = "chat.completion"
		choice["message"] = map[string]any{"role": lm.Assistant, "content": text.Text}
	} else {
		choice["text"] = text.Text
	}
	reply(w, http.StatusOK, map[string]any{
		"id": "cmpl", "object": kind, "created": time.Now().Unix(), "model": b.model.Info().Name, "choices": []any{choice},
		"usage": map[string]int{"prompt_tokens": len(tokens), "completion_tokens": text.Tokens, "total_tokens": len(tokens) + text.Tokens},
	})
}

// options of a request.
func (r request) options() (lm.GenerateOptions, error) {
	o := lm.GenerateOptions{MaxTokens: cmp.Or(r.MaxCompletionTokens, r.MaxTokens, usual), Temperature: 1, Seed: r.Seed}
	if r.Temperature != nil {
		o.Temperature = *r.Temperature
	}
	var one string
	switch {
	case len(r.Stop) == 0 || string(r.Stop) == "null":
	case json.Unmarshal(r.Stop, &one) == nil:
		o.Stop = []string{one}
	default:
		if err := json.Unmarshal(r.Stop, &o.Stop); err != nil {
			return o, errors.New("stop is a string or a list of strings")
		}
	}
	switch {
	case r.Stream:
		return o, errors.New("texts come whole here: leave stream out")
	case r.N != nil && *r.N != 1:
		return o, errors.New("there is one text for a request: leave n out")
	case r.Format != nil && r.Format.Type != "text":
		return o, errors.New("texts are free here: leave response_format out")
	case len(r.Tools) > 0 && string(r.Tools) != "null" && string(r.Tools) != "[]":
		return o, errors.New("there are no tools here: leave them out")
	}
	return o, o.Check()
}

// prompt lays a request out in tokens.
func (b *Batcher) prompt(ctx context.Context, r request, chat bool) ([]lm.Token, error) {
	if !chat {
		tokens, err := b.model.Tokenizer().Encode(ctx, r.Prompt)
		if first, ok := b.model.Tokenizer().Beginning(); ok && err == nil {
			tokens = append([]lm.Token{first}, tokens...)
		}
		return tokens, err
	}
	messages := make([]lm.Message, len(r.Messages))
	for i, m := range r.Messages {
		content, err := m.text()
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		messages[i] = lm.Message{Role: m.Role, Content: content}
	}
	return b.model.Chat(ctx, messages)
}

// text of a message.
func (m message) text() (string, error) {
	var whole string
	if err := json.Unmarshal(m.Content, &whole); err == nil {
		return whole, nil
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", errors.New("its content is neither a string nor a list of texts")
	}
	for _, p := range parts {
		if p.Type != "text" {
			return "", errors.New("it has a part that is no text")
		}
		whole += p.Text
	}
	return whole, nil
}

func failure(err error, kind string) map[string]any {
	return map[string]any{"error": map[string]any{"message": err.Error(), "type": kind}}
}

func reply(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(what) // the client has gone if that fails
}
