package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/remote"
)

// A hosted model of OpenAI's kind writes text. It does not answer for chosen tokens,
// and says so when it is asked to.
func ExampleDial() {
	// In place of a real server: one that always answers the same.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			fmt.Fprint(w, `{"data":[{"id":"parrot-1","owned_by":"someone"}]}`)
		case "/v1/chat/completions":
			fmt.Fprint(w, `{"choices":[{"index":0,"message":{"content":"Pieces of eight!"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()

	ctx := context.Background()
	client, err := remote.Dial(ctx, remote.Options{URL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	prompt := lm.Prompt{Messages: []lm.Message{{Role: lm.User, Content: "What do you say?"}}}
	texts, err := client.Generate(ctx, []lm.Prompt{prompt}, lm.GenerateOptions{MaxTokens: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(client.Info().Name, "says:", texts[0].Text)

	_, err = client.Scorer(ctx)
	var unsupported *lm.UnsupportedError
	fmt.Println("scores:", !errors.As(err, &unsupported))
	// Output:
	// parrot-1 says: Pieces of eight!
	// scores: false
}
