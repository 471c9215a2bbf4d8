package icl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/lm/models"
	"github.com/sotto-dp/sotto/lm/remote"
	"github.com/sotto-dp/sotto/prompt"
)

// chatServer speaks as much of OpenAI's interface as a model that only chats has. It
// answers with the last word of the question.
func chatServer(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []lm.Message `json:"messages"`
		}
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") || json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Messages) == 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		lines := strings.Split(body.Messages[0].Content, "\n")
		word := "1"
		if len(lines) > 1 {
			words := strings.Fields(lines[len(lines)-2])
			word = words[len(words)-1]
		}
		json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": lm.Message{Role: lm.Assistant, Content: "Answer: " + word + "."}}},
			"usage":   map[string]any{"prompt_tokens": 9, "completion_tokens": 2},
		})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestChatServer: a server that gives no scores still answers, for what it sees has been
// released; it is told what it cannot do.
func TestChatServer(t *testing.T) {
	m, err := backend.Open(t.Context(), backend.Spec{URL: chatServer(t), Dialect: remote.OpenAI, Model: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	k, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	demos := []prompt.Example{{Input: "The match ended", Output: "Sports"}}
	_, err = Open(t.Context(), m, k, demos, Options{Calibrate: true})
	var unsupported *lm.UnsupportedError
	if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "without their scores") {
		t.Errorf("calibration: %v", err)
	}
	a, err := Open(t.Context(), m, k, demos, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	got, err := a.Answer(t.Context(), []string{"a text about sports", "of business", "about nothing", "a text\non sci/tech"})
	if want := []string{"Sports", "Business", "", "Technology"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
	if a.Describe() != howMatch || a.Usage().Requests != 4 {
		t.Errorf("%s, %d requests", a.Describe(), a.Usage().Requests)
	}
}

// TestLlamaCPP answers with llama.cpp's own server and with the embedded engine on the
// same file. The server rounds activations of quantised files, so scores are not the
// same: probabilities were seen to differ by 0.002.
func TestLlamaCPP(t *testing.T) {
	if testing.Short() {
		t.Skip("a real server is started")
	}
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatalf("%v; run: go run ./cmd/sotto model pull", err)
	}
	m, err := backend.Open(t.Context(), backend.Spec{URL: startLlamaCPP(t, path)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	embedded := defaultModel(t)
	k, err := prompt.Builtin("trec")
	if err != nil {
		t.Fatal(err)
	}
	k.Labels = []string{"Number", "Person", "Person name"} // of several tokens, and one begins another
	demos := []prompt.Example{{Input: "Who painted the ceiling?", Output: "Person"}, {Input: "How many rivers meet here?", Output: "Number"}}
	inputs := []string{"How many eggs are in a dozen?", "Who wrote Hamlet?", ""}
	var all [2][]Prediction
	for i, model := range []lm.Model{m, embedded} {
		a, err := Open(t.Context(), model, k, demos, Options{Calibrate: true, Normalise: true})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		c, ok := a.(*Classifier)
		if !ok {
			t.Fatalf("%T: %s", a, a.Describe())
		}
		if all[i], err = c.Classify(t.Context(), inputs); err != nil {
			t.Fatal(err)
		}
	}
	var apart float64
	for i := range inputs {
		for j, p := range all[0][i].Raw.Scores {
			apart = max(apart, math.Abs(p-all[1][i].Raw.Scores[j]))
		}
		if there, here := all[0][i].Label, all[1][i].Label; there != here {
			t.Errorf("question %d: %q there, %q here", i, there, here)
		}
	}
	t.Logf("probabilities differ by at most %.2g", apart)
	if apart > 0.05 {
		t.Errorf("probabilities differ by %v", apart)
	}
	genres, err := prompt.Builtin("mit-g")
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), m, genres, []prompt.Example{{Input: "a funny comedy with a dog", Output: "comedy"}, {Input: "a scary film about ghosts", Output: "scary"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	answers, err := a.Answer(t.Context(), []string{"any western with a train"})
	expect.NoError(t, err)
	expect.Equal(t, "answers[0]", answers[0], "western")
	expect.Equal(t, "a.Describe()", a.Describe(), howWriting)
}

// startLlamaCPP starts the server that scripts/llamacpp.sh installs.
func startLlamaCPP(t *testing.T, model string) string {
	t.Helper()
	if found, _ := filepath.Glob("../../.venv/llamacpp/installed-*"); len(found) == 0 {
		t.Skip("llama.cpp's server is not installed: scripts/llamacpp.sh install")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	listener.Close()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, "../../scripts/llamacpp.sh", "serve", model, port)
	server.Stderr, server.WaitDelay = &log, 10*time.Second
	if err := server.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	for {
		reply, err := http.Get("http://" + address + "/health")
		if err == nil {
			reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("llama.cpp's server ended: %v\n%s", err, log.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
