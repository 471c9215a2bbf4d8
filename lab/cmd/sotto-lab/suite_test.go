package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// ticketSuite compares what can be had quickly.
const ticketSuite = `title = "Tickets"
seeds = 2
items = 10
epsilon = [4]

[[dataset]]
name = "tickets"
task = "task.toml"
train = "records.jsonl"
test = "records.jsonl"
size = 400

[[method]]
method = "zero"

[[method]]
method = "public"

[[method]]
method = "clipped"
batch = 16

[[method]]
method = "real"
`

// suiteHome is a home with a suite on the tiny model.
func suiteHome(t *testing.T) {
	t.Helper()
	home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	if err := errors.Join(
		os.WriteFile("task.toml", []byte(ticketTask), 0o600), os.WriteFile("records.jsonl", []byte(tickets(200)), 0o600),
		os.WriteFile("suite.toml", []byte(ticketSuite), 0o600),
	); err != nil {
		t.Fatal(err)
	}
}

// canceller cancels a context when a text appears in what is written.
type canceller struct {
	bytes.Buffer
	at     string
	cancel context.CancelFunc
}

func (s *canceller) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(s.String(), s.at) {
		s.cancel()
	}
	return n, err
}

// TestConcurrentSuiteInterrupt: an interrupt leaves a suite that the same command completes, and
// the rows are those of a suite that was not interrupted.
func TestConcurrentSuiteInterrupt(t *testing.T) {
	suiteHome(t)
	command := func(out, cache string) []string {
		return []string{"suite", "suite.toml", "--model", "tiny.gguf", "--out", out, "--cache", cache}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := &canceller{at: "2 of 7", cancel: cancel}
	p := newProgram(&bytes.Buffer{}, errs)
	if code := p.main(ctx, command("a", "cache")); code != ui.Failed {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if text := errs.String(); !strings.Contains(text, "of 7 sets are done; the same command resumes") || !strings.Contains(text, "sotto-lab: interrupted") {
		t.Errorf("%s", text)
	}
	code, out, text := run(t, append(command("a", "cache"), "--json")...)
	if code != 0 {
		t.Fatal(text)
	}
	o := object(t, out)
	reused, answered := o["reused_answers"].(float64), o["answered"].(float64)
	if reused < 2 || reused+answered != 7 {
		t.Errorf("%v reused, %v answered", reused, answered)
	}
	code, _, text = run(t, command("b", "other")...)
	expect.Equal(t, "exit code", code, 0)
	expect.Contains(t, "text", text, "7 of 7")
	a, errA := result.ReadRows("a/rows.jsonl")
	b, errB := result.ReadRows("b/rows.jsonl")
	expect.NoError(t, errA)
	expect.NoError(t, errB)
	expect.Len(t, "a", a, len(b))
	expect.Min(t, "number of a", len(a), 1)
	for i := range a {
		if a[i].Key != b[i].Key || a[i].Value != b[i].Value {
			t.Errorf("row %d is %s %v after an interrupt, and %s %v without", i, a[i].Key, a[i].Value, b[i].Key, b[i].Value)
		}
	}
}

// TestSuiteAnswerer: a server that only chats can answer with what another model wrote,
// if it may see records: texts of suites are not private.
func TestSuiteAnswerer(t *testing.T) {
	suiteHome(t)
	server := httptest.NewServer(chatServer())
	t.Cleanup(server.Close)
	text := fmt.Sprintf("models = [\"tiny.gguf\"]\nanswerers = [%q]\ncalibrate = [false]\n", server.URL) + ticketSuite
	if err := os.WriteFile("suite.toml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := []string{"suite", "suite.toml", "--out", "rows", "--cache", "cache", "--seeds", "1", "--json"}
	if code, _, errs := run(t, command...); code != ui.Wrong || !strings.Contains(errs, "trusted") {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if _, err := os.Stat("rows"); err == nil {
		t.Error("something was done with a server that is not trusted")
	}
	if err := os.WriteFile("own.toml", []byte(fmt.Sprintf("[model]\nurl = %q\ntrusted = true\n", server.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOTTO_CONFIG", "own.toml")
	code, out, errs := run(t, command...)
	if code != 0 {
		t.Fatal(errs)
	}
	if object(t, out)["ok"] != true {
		t.Fatal(out)
	}
	rows, err := result.ReadRows("rows/rows.jsonl")
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for _, r := range rows {
		// It repeats the prompt, which begins with no label.
		expect.Equal(t, "r.Answerer", r.Answerer, "parrot")
		expect.Equal(t, "r.Value", r.Value, 0)
		if r.Method != "zero" {
			expect.Equal(t, "r.Model", r.Model, "tiny")
		}
	}
}

// chatServer repeats what it is asked.
func chatServer() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"parrot","object":"model","owned_by":"someone"}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []lm.Message `json:"messages"`
			Stream   bool         `json:"stream"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
			http.Error(w, "wrong request", http.StatusBadRequest)
			return
		}
		last := fmt.Sprintf("%d: %s", len(q.Messages), q.Messages[len(q.Messages)-1].Content)
		text, _ := json.Marshal(last)
		if !q.Stream {
			fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, text)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", text)
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n")
	})
	return mux
}

// toySuite tries the toy beside others.
const toySuite = ticketSuite + `
[[method]]
method = "toy"
batch = 8
toy_weight = 0.5
`

// TestLongAMethodIsOneFile: a method that is one more file of package decode, on no list, is in suites and
// in their reports.
func TestLongAMethodIsOneFile(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	decode := filepath.Join(root, "internal/private/decode")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(decode, "toy_method.go"): filepath.Join(decode, "testdata/toy/toy.go")}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // before there is another home, in which nothing is built yet
	binary, replace := filepath.Join(dir, "sotto-lab"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(replace, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-overlay", replace, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	suiteHome(t)
	write(t, "suite.toml", []byte(toySuite))
	if out, err := exec.Command(binary, "suite", "suite.toml", "--model", "tiny.gguf", "--out", "results", "--cache", "cache").CombinedOutput(); err != nil {
		t.Fatalf("the suite does not know the toy: %v\n%s", err, out)
	}
	for _, name := range []string{"results/rows.jsonl", "results/README.md"} {
		data, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(data), "toy") {
			t.Errorf("%s does not know the toy: %v", name, err)
		}
	}
}
