package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sotto-dp/sotto/lm"
)

// echoes are ways in which a server may repeat what it was sent.
var echoes = map[string]func(w http.ResponseWriter, r *http.Request, sent string){
	"an error's message": func(w http.ResponseWriter, _ *http.Request, sent string) {
		w.WriteHeader(400)
		_ = json.NewEncoder(w).Encode(object{"error": object{"message": sent}})
	},
	"an error's words": func(w http.ResponseWriter, _ *http.Request, sent string) {
		w.WriteHeader(422)
		_ = json.NewEncoder(w).Encode(object{"error": object{"type": sent, "code": sent, "param": sent}, "type": sent})
	},
	"an error that is a text": func(w http.ResponseWriter, _ *http.Request, sent string) {
		w.WriteHeader(500)
		_ = json.NewEncoder(w).Encode(object{"error": sent, "detail": sent})
	},
	"an error's body": func(w http.ResponseWriter, _ *http.Request, sent string) {
		w.WriteHeader(503)
		_, _ = io.WriteString(w, sent)
	},
	"text for JSON":        func(w http.ResponseWriter, _ *http.Request, sent string) { _, _ = io.WriteString(w, sent) },
	"JSON of another type": func(w http.ResponseWriter, _ *http.Request, sent string) { _ = json.NewEncoder(w).Encode(sent) },
	"keys":                 func(w http.ResponseWriter, _ *http.Request, sent string) { _ = json.NewEncoder(w).Encode(spread(sent)) },
	"the status line":      func(w http.ResponseWriter, _ *http.Request, sent string) { cut(w, "HTTP/1.1 2"+sent+"\r\n\r\n") },
	"what should be HTTP":  func(w http.ResponseWriter, _ *http.Request, sent string) { cut(w, sent+"\r\n\r\n") },
	"a header's name": func(w http.ResponseWriter, _ *http.Request, sent string) {
		cut(w, "HTTP/1.1 200 OK\r\n"+sent+"\r\n\r\n")
	},
	"the length": func(w http.ResponseWriter, _ *http.Request, sent string) {
		cut(w, "HTTP/1.1 200 OK\r\nContent-Length: "+sent+"\r\n\r\n")
	},
	"the encoding": func(w http.ResponseWriter, _ *http.Request, sent string) {
		cut(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "+sent+"\r\n\r\n")
	},
	"a chunk's length": func(w http.ResponseWriter, _ *http.Request, sent string) {
		cut(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+sent+"\r\n")
	},
	"an event": func(w http.ResponseWriter, _ *http.Request, sent string) {
		_, _ = io.WriteString(w, "data: "+sent+"\n\n")
	},
	"an error in an event": func(w http.ResponseWriter, _ *http.Request, sent string) {
		events(w, object{"error": object{"message": sent}})
	},
	"a redirect": func(w http.ResponseWriter, _ *http.Request, sent string) {
		cut(w, "HTTP/1.1 307 X\r\nLocation: http://elsewhere.invalid/"+url.QueryEscape(sent)+"\r\n\r\n")
	},
	"a redirect's host": func(w http.ResponseWriter, _ *http.Request, sent string) {
		cut(w, "HTTP/1.1 302 X\r\nLocation: http://"+sent+".invalid/\r\n\r\n")
	},
	"a broken redirect": func(w http.ResponseWriter, _ *http.Request, sent string) {
		cut(w, "HTTP/1.1 302 X\r\nLocation: http://[::"+sent+"\r\n\r\n")
	},
	"when to come back": func(w http.ResponseWriter, _ *http.Request, sent string) {
		w.Header().Set("Retry-After", sent)
		w.WriteHeader(429)
	},
	"an authentication": func(w http.ResponseWriter, _ *http.Request, sent string) {
		w.Header().Set("WWW-Authenticate", sent)
		w.WriteHeader(401)
	},
	"a compressed nonsense": func(w http.ResponseWriter, _ *http.Request, sent string) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, sent)
	},
}

// spread repeats a text wherever an answer may have one.
func spread(sent string) any {
	return object{
		sent: sent, "tokens": []any{sent}, "choices": []any{object{"index": 0, "text": 5, "logprobs": object{"top_logprobs": []any{object{sent: sent}}}, sent: sent}},
		"index": 0, "content": []any{sent}, "completion_probabilities": sent, "meta_info": sent, "error": object{sent: sent},
	}
}

// TestErrorsKeepSecrets: whatever a server repeats, no error holds the text or the
// tokens of a prompt.
func TestErrorsKeepSecrets(t *testing.T) {
	var echo atomic.Value
	var secret atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		echo.Load().(func(http.ResponseWriter, *http.Request, string))(w, r, secret.Load().(string))
	}))
	defer server.Close()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(echoes))).Draw(t, "echo")
		echo.Store(echoes[name])
		d := dialectOf(rapid.SampledFrom([]Dialect{VLLM, SGLang, LlamaCPP, Ollama, OpenAI}).Draw(t, "dialect"))
		// Neither the word nor the number has another reason to be in a message.
		word := rapid.StringMatching(`zq[a-z]{6,12}`).Draw(t, "word")
		token := lm.Token(rapid.IntRange(1_100_000_000, 1_900_000_000).Draw(t, "token"))
		secret.Store(fmt.Sprintf("%s %d", word, token))
		if name == "a redirect's host" {
			secret.Store(fmt.Sprintf("%s%d", word, token))
		}
		base, _ := url.Parse(server.URL)
		w := newWire(Options{Retries: -1}.withDefaults(), base, "")
		w.options.Retries, w.backend = 0, string(d.name())
		defer w.close()
		c := &Client{wire: w, dialect: d, info: lm.Info{Backend: string(d.name()), Capacity: lm.Capacity{Vocabulary: 1 << 31, Context: 1 << 20}}}
		for _, err := range ask(c, word, token) {
			for err := range chain(err) {
				for _, said := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
					if strings.Contains(said, word) || strings.Contains(said, fmt.Sprint(token)) {
						t.Fatalf("%s, %s: %T holds the prompt: %s", d.name(), name, err, said)
					}
				}
			}
		}
	})
}

// ask tries everything that sends a prompt.
func ask(c *Client, word string, token lm.Token) []error {
	ctx := context.Background()
	_, _, plain := c.dialect.write(ctx, c, lm.Prompt{Text: word}, lm.GenerateOptions{MaxTokens: 1}, sendOptions{}, nil)
	_, _, chat := c.dialect.write(ctx, c, lm.Prompt{Messages: []lm.Message{{Role: lm.User, Content: word}}}, lm.GenerateOptions{MaxTokens: 1}, sendOptions{}, func(string) error { return nil })
	_, embed := c.dialect.embed(ctx, c, []string{word})
	errs := []error{plain, chat, embed}
	if d, ok := c.dialect.(scoringDialect); ok {
		_, _, chosen := d.score(ctx, c, []scoreQuery{{tokens: []lm.Token{token}, candidates: []lm.Token{token}}})
		_, _, best := d.score(ctx, c, []scoreQuery{{tokens: []lm.Token{token}, top: 3}})
		_, encode := d.encode(ctx, c, word, false)
		_, decode := d.decode(ctx, c, []lm.Token{token})
		_, render := d.render(ctx, c, []lm.Message{{Role: lm.User, Content: word}})
		errs = append(errs, chosen, best, encode, decode, render)
	}
	return errs
}

// chain walks through an error and all behind it.
func chain(err error) func(func(error) bool) {
	return func(yield func(error) bool) {
		for err != nil {
			if !yield(err) {
				return
			}
			err = errors.Unwrap(err)
		}
	}
}

// TestKeys checks where the key goes, and where it does not.
func TestKeys(t *testing.T) {
	const key = "sk-very-secret"
	t.Setenv("SOTTO_TEST_KEY", key)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []Dialect{OpenAI, Azure, VLLM} {
		toy, address := newToy(t, d)
		var wrong atomic.Int64
		toy.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			got, want := [2]string{r.Header.Get("Authorization"), r.Header.Get("Api-Key")}, [2]string{"Bearer " + key, ""}
			if d == Azure {
				want = [2]string{"", key}
			}
			if got != want {
				wrong.Add(1)
			}
			return false
		}
		if d == Azure {
			address += "/openai/v1"
		}
		for _, k := range []Key{{Env: "SOTTO_TEST_KEY"}, {File: file}} {
			o := Options{Dialect: d, Model: "toy", Key: k}
			c := dial(t, address, o)
			if wrong.Load() > 0 {
				t.Errorf("%s: %d requests without the key", d, wrong.Load())
			}
			for _, printed := range []string{fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%+v", o), fmt.Sprintf("%+v", c.Probe())} {
				if strings.Contains(printed, key) {
					t.Errorf("%s: the key is printed", d)
				}
			}
		}
	}
	for name, bad := range map[string]Key{
		"both": {Env: "SOTTO_TEST_KEY", File: file}, "not set": {Env: "SOTTO_TEST_NO_KEY"}, "no file": {File: file + "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := bad.Read(); err == nil {
				t.Errorf("%s: accepted", name)
			}
		})
	}
	t.Setenv("SOTTO_TEST_KEY", key+"\r\nX-Other: 1")
	if _, err := (Key{Env: "SOTTO_TEST_KEY"}).Read(); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("a key with a line end: %v", err)
	}
}

// TestRedirects: prompts and keys go to the host that was named only.
func TestRedirects(t *testing.T) {
	var leaked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var requests atomic.Int64
		w := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			http.Redirect(w, r, other.URL+"/x", status)
		})
		err := w.ask(t.Context(), ping, &object{})
		if !errors.Is(err, errRedirect) || requests.Load() != 1 {
			t.Errorf("%d to another host: %d requests, error %v", status, requests.Load(), err)
		}
	}
	if leaked.Load() > 0 {
		t.Error("another host was asked")
	}
	w := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ping" {
			http.Redirect(w, r, "/pong", http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	var out struct{ A int }
	if err := w.ask(t.Context(), ping, &out); err != nil || out.A != 1 {
		t.Errorf("a redirect on the same host: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for name, bad := range map[string]Options{
		"no URL":       {},
		"no scheme":    {URL: "localhost:8000"},
		"other scheme": {URL: "ftp://localhost"},
		"no host":      {URL: "http:///v1"},
		"a password":   {URL: "http://user:secretword@localhost"},
		"broken":       {URL: "http://[::secretword"},
		"a fragment":   {URL: "http://localhost/#x"},
		"a dialect":    {URL: "http://localhost", Dialect: "gopher"},
		"a timeout":    {URL: "http://localhost", Timeout: -1},
		"a tolerance":  {URL: "http://localhost", Tolerance: -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Dial(t.Context(), bad)
			if err == nil || strings.Contains(err.Error(), "secretword") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestGate: requests of both kinds never run at one time, and all come to an end.
func TestGate(t *testing.T) {
	var g gate
	var running [2]atomic.Int64
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			k := kind(i % 2)
			for range 50 {
				done, err := g.pass(context.Background(), k)
				if err != nil {
					t.Error(err)
					return
				}
				running[k].Add(1)
				if running[1-k].Load() > 0 {
					t.Error("both kinds run")
				}
				running[k].Add(-1)
				done()
			}
		})
	}
	wait.Wait()
	done, _ := g.pass(t.Context(), chosenKind)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.pass(ctx, bestKind); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting in an ended context: %v", err)
	}
	done()
	if done, err := g.pass(t.Context(), chosenKind); err != nil {
		t.Errorf("after a wait was given up: %v", err)
	} else {
		done()
	}
}

// TestKindsApart sees from the server that best and chosen tokens are not asked for
// at the same time.
func TestKindsApart(t *testing.T) {
	toy, address := newToy(t, VLLM)
	s := dialScorer(t, address, Options{})
	var running [2]atomic.Int64
	var both atomic.Bool
	toy.mu.Lock()
	toy.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		body, _ := io.ReadAll(r.Body)
		k := 0
		if strings.Contains(string(body), "logprob_token_ids") {
			k = 1
		}
		running[k].Add(1)
		defer running[k].Add(-1)
		time.Sleep(time.Millisecond)
		if running[1-k].Load() > 0 {
			both.Store(true)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		_ = json.NewEncoder(w).Encode(toy.vllm(w, r.URL.Path, decoded(body)))
		return true
	}
	toy.mu.Unlock()
	err := each(t.Context(), 8, 40, func(ctx context.Context, i int) error {
		session, err := s.Open(ctx)
		if err != nil {
			return err
		}
		a, _ := session.New()
		b, _ := session.New()
		_, err = session.Step(ctx, []lm.Step{
			{Sequence: a, Tokens: []lm.Token{lm.Token(i)}, Ask: lm.Ask{Top: 3}},
			{Sequence: b, Tokens: []lm.Token{lm.Token(i)}, Ask: lm.Ask{Candidates: []lm.Token{1, 2}}},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if both.Load() {
		t.Error("best and chosen tokens were asked for at the same time")
	}
}

func decoded(body []byte) object {
	var out object
	_ = json.Unmarshal(body, &out)
	return out
}
