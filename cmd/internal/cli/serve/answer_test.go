package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// TestServePrivateAnswers: a route answers from private records as long as budget and key allow;
// what is spent is in the ledger; and nothing of a record is in anything that was written.
func TestServePrivateAnswers(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	clitest.Messages(t, 200)
	t.Setenv("SOTTO_LEDGER", clitest.Abs(t, "ledger.db"))
	clitest.Printed(t, "ledger", "init")
	out := clitest.Printed(t, "serve", "route", "answer", "ask", "--task", "teams.toml", "--data", "messages.jsonl", "--size", "200",
		"--epsilon", "8", "--delta", "1e-5", "--answers", "3", "--model", "tiny.gguf", "--latency-quantum", "10ms", "--store", "service.db")
	if !strings.Contains(out, "ask, version 1") || !strings.Contains(out, "messages") {
		t.Error(out)
	}
	if code, out, _ := clitest.Run(t, "ledger", "show", "messages"); code == 0 {
		t.Errorf("setting a route was charged: %s", out)
	}
	key := func(args ...string) string {
		t.Helper()
		out := clitest.Printed(t, append([]string{"serve", "key", "add", "team", "--store", "service.db", "--json"}, args...)...)
		return clitest.Object(t, out)["secret"].(string)
	}
	one, all, admin := key("--route", "ask", "--answers", "1"), key("--route", "*"), key("--admin")
	service := clitest.Serving(t, "--model", "tiny.gguf", "--store", "service.db", "--requests", "requests.log")
	ask := func(key string) (int, http.Header, string) {
		t.Helper()
		return clitest.Exchange(t, http.MethodPost, service.Clients+"/v1/chat/completions", key, `{"model":"ask","messages":[{"role":"user","content":"I forgot quux."}]}`)
	}
	status, header, got := ask(one)
	var answer struct {
		Choices []struct {
			Message struct{ Content string }
		}
		Sotto struct {
			Spent  float64 `json:"epsilon_spent"`
			Left   float64 `json:"epsilon_left"`
			Charge string
		}
	}
	if err := json.Unmarshal([]byte(got), &answer); err != nil || status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	if team := answer.Choices[0].Message.Content; team != "billing" && team != "login" {
		t.Errorf("%q is no team", team)
	}
	expect.True(t, "answer.Sotto.Spent above 0", answer.Sotto.Spent > 0, answer.Sotto.Spent)
	expect.Max(t, "answer.Sotto.Left", answer.Sotto.Left, 8)
	expect.True(t, "answer.Sotto.Charge that is not empty", answer.Sotto.Charge != "")
	expect.True(t, "header.Get('Sotto-Epsilon-Left') that is not empty", header.Get("Sotto-Epsilon-Left") != "")
	if header.Get("Sotto-Answers-In-Series") != "2" || !strings.Contains(got, `"answers_in_series":2`) {
		t.Errorf("%s, %v", got, header)
	}
	if status, _, got := ask(one); status != 402 || !strings.Contains(got, "key_limit_reached") {
		t.Errorf("a key had more than it may: %d %s", status, got)
	}
	for i := range 2 {
		if status, _, got := ask(all); status != 200 {
			t.Errorf("answer %d: %d %s", i+2, status, got)
		}
	}
	before := clitest.Printed(t, "ledger", "show", "messages", "--json")
	status, _, got = ask(all)
	if status != 402 || !strings.Contains(got, "privacy_budget_exhausted") {
		t.Errorf("%d %s", status, got)
	}
	if after := clitest.Printed(t, "ledger", "show", "messages", "--json"); after != before {
		t.Errorf("a refusal changed the ledger: %s, %s", before, after)
	}
	listed := clitest.Printed(t, "serve", "key", "list", "--store", "service.db")
	if !strings.Contains(listed, "1 of 1") || !strings.Contains(listed, "looks after the service") {
		t.Error(listed)
	}
	_, _, metrics := clitest.Exchange(t, http.MethodGet, service.Admin+"/metrics", "", "")
	for _, want := range []string{`sotto_private_answers_total{route="ask"} 3`, `sotto_requests_total{path="/v1/chat/completions",route="ask",status="402"} 2`, `sotto_epsilon_left{route="ask"}`, "go_goroutines NaN"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if status, _, _ := clitest.Exchange(t, http.MethodGet, service.Admin+"/admin/v1/keys", all, ""); status != 401 {
		t.Errorf("a client's key looks after the service: %d", status)
	}
	if status, _, _ := clitest.Exchange(t, http.MethodGet, service.Clients+"/v1/models", admin, ""); status != 401 {
		t.Errorf("a key that looks after the service is a client's: %d", status)
	}
	status, _, audit := clitest.Exchange(t, http.MethodGet, service.Admin+"/admin/v1/audit", admin, "")
	if status != 200 || !strings.Contains(audit, "set route") {
		t.Errorf("%d %s", status, audit)
	}
	if code := service.Stop(); code != 0 {
		t.Errorf("exit code %d: %s", code, service.Stderr.String())
	}
	log, err := os.ReadFile("requests.log")
	expect.NoError(t, err)
	expect.Equal(t, "bytes.Count(log, []byte('\\n'))", bytes.Count(log, []byte("\n")), 6)
	expect.True(t, "bytes.Contains(log, []byte(answer.Sotto.Charge))", bytes.Contains(log, []byte(answer.Sotto.Charge)), string(log))
	written := service.Stderr.String() + service.Stdout.String() + string(log) + metrics + audit + listed + got
	for _, secret := range []string{clitest.Canary, "quux", one, all, admin} {
		if strings.Contains(written, secret) {
			t.Errorf("%q is in what was written", secret)
		}
	}
	if !strings.Contains(service.Stderr.String(), "the pace is 10ms") {
		t.Errorf("nobody is warned of a pace that is too short: %s", service.Stderr.String())
	}
	for _, name := range []string{"service.db", "ledger.db"} {
		files, err := filepath.Glob(name + "*") // with its write-ahead log, if there is one
		if err != nil || len(files) == 0 {
			t.Fatalf("there is no %s: %v", name, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			expect.NoError(t, err)
			for _, secret := range []string{clitest.Canary, "quux", one, all, admin} {
				if bytes.Contains(data, []byte(secret)) {
					t.Errorf("%s holds %q", file, secret)
				}
			}
		}
	}
}

// TestServePrivateRoutes: what cannot be served with a guarantee is refused when it is set.
func TestServePrivateRoutes(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	clitest.Messages(t, 50)
	set := []string{"serve", "route", "answer", "ask", "--task", "teams.toml", "--data", "messages.jsonl", "--size", "50", "--epsilon", "1", "--delta", "1e-5", "--model", "tiny.gguf", "--store", "service.db"}
	for name, c := range map[string]struct{ flags, says string }{
		"seed":     {"--seed 1", "has no privacy guarantee"},
		"label":    {"--label a=b", "--label"},
		"quantum":  {"--latency-quantum -1s", "--latency-quantum"},
		"claimed":  {"--method mixing --set proof=published", "method"},
		"password": {"--data postgres://u:secret@127.0.0.1/x --query SELECT", "leave it out"},
		"query":    {"--data postgres://u@127.0.0.1/x?password=secret --query SELECT", "leave it out"},
		"missing":  {"--data nowhere.jsonl", "nowhere.jsonl"},
		"server":   {"--url http://127.0.0.1:9 --model x", "trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := clitest.Run(t, append(set, strings.Fields(c.flags)...)...)
			expect.True(t, "code other than 0", code != 0, code)
			expect.Contains(t, "errs", errs, c.says)
			expect.True(t, "no secret in errs", !strings.Contains(errs, "secret"), errs)
		})
	}
	if _, err := os.Stat("service.db"); err == nil {
		t.Error("a store was made for nothing")
	}
}

// TestServePrivateBudget: a route that could answer nothing is refused when it is set, with the budget's own words, and one that
// could not answer as often as was planned is warned of. Nothing is charged for either.
func TestServePrivateBudget(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	clitest.Messages(t, 200)
	clitest.Printed(t, "ledger", "init")
	data := []string{"--task", "teams.toml", "--data", "messages.jsonl", "--size", "200", "--delta", "1e-5", "--model", "tiny.gguf"}
	set := func(more ...string) (int, string) {
		t.Helper()
		code, _, errs := clitest.Run(t, append(append([]string{"serve", "route", "answer", "ask", "--latency-quantum", "1s", "--store", "service.db"}, data...), more...)...)
		return code, errs
	}
	if code, errs := set("--epsilon", "1"); code != 0 {
		t.Fatalf("data that the ledger does not know: %d %s", code, errs)
	}
	clitest.Printed(t, append([]string{"answer", "--input", "I forgot it.", "--epsilon", "1"}, data...)...)
	before := clitest.Printed(t, "ledger", "show", "messages", "--json")
	if code, errs := set("--epsilon", "1"); code != 3 || !strings.Contains(errs, "sotto ledger grant") {
		t.Errorf("a budget that is spent: %d %s", code, errs)
	}
	clitest.Printed(t, "ledger", "grant", "messages", "--epsilon", "1.5", "--delta", "1e-5", "--reason", "a test")
	if code, errs := set("--epsilon", "8", "--answers", "40"); code != 0 || !strings.Contains(errs, "does not allow all the answers") {
		t.Errorf("a budget for some of the answers: %d %s", code, errs)
	}
	if after := clitest.Printed(t, "ledger", "show", "messages", "--json"); strings.Count(after, `"reserved"`) != strings.Count(before, `"reserved"`) {
		t.Errorf("setting a route was charged: %s", after)
	}
	if versions := clitest.Printed(t, "serve", "route", "list", "ask", "--store", "service.db", "--json"); strings.Count(versions, `"version"`) != 2 {
		t.Errorf("a route that was refused is there: %s", versions)
	}
}

// TestServeRecordsAlone: an upstream of clients is not the server that sees records.
func TestServeRecordsAlone(t *testing.T) {
	clitest.Home(t)
	clitest.Messages(t, 50)
	clitest.Write(t, "own.toml", []byte("[model]\nurl = \"http://127.0.0.1:9\"\nname = \"x\"\ntrusted = true\n[upstream.same]\nurl = \"http://127.0.0.1:9/v1\"\n"))
	t.Setenv("SOTTO_CONFIG", "own.toml")
	code, _, errs := clitest.Run(t, "serve", "route", "answer", "ask", "--task", "teams.toml", "--data", "messages.jsonl", "--size", "50", "--epsilon", "1", "--delta", "1e-5", "--store", "service.db")
	if code != 2 || !strings.Contains(errs, "upstream same is the server") {
		t.Errorf("%d %s", code, errs)
	}
}

// TestServePrivatePace: the pace of a route is what its plan needs, unless a flag says another; one
// that is too short, or none, is warned of. The ledger has no finer time.
func TestServePrivatePace(t *testing.T) {
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	clitest.Messages(t, 200)
	clitest.Printed(t, "ledger", "init")
	set := func(flags ...string) (pace time.Duration, errs string) {
		t.Helper()
		code, out, errs := clitest.Run(t, append([]string{
			"serve", "route", "answer", "ask", "--task", "teams.toml", "--data", "messages.jsonl", "--size", "200",
			"--epsilon", "8", "--delta", "1e-5", "--model", "tiny.gguf", "--store", "service.db", "--json",
		}, flags...)...)
		var listed struct {
			Routes []struct {
				Active bool
				Spec   struct {
					Answers struct{ Pace time.Duration }
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &listed); err != nil || code != 0 {
			t.Fatalf("%d %v %s", code, err, errs)
		}
		for _, r := range listed.Routes {
			if r.Active {
				pace = r.Spec.Answers.Pace
			}
		}
		return pace, errs
	}
	if pace, errs := set("--latency-quantum", "0"); pace != 0 || !strings.Contains(errs, "no guarantee covers that") {
		t.Errorf("%v: %s", pace, errs)
	}
	if pace, errs := set("--latency-quantum", "1ms"); pace != time.Millisecond || !strings.Contains(errs, "the pace is 1ms") {
		t.Errorf("%v: %s", pace, errs)
	}
	if pace, errs := set("--latency-quantum", "1h"); pace != time.Hour || strings.Contains(errs, "pace") {
		t.Errorf("%v: %s", pace, errs)
	}
	pace, errs := set()
	expect.True(t, "pace above 0", pace > 0, pace)
	expect.Max(t, "pace", pace, 10*time.Minute)
	expect.True(t, "no warning in errs", !strings.Contains(errs, "warning"), errs)
	service := clitest.Serving(t, "--model", "tiny.gguf", "--store", "service.db", "--open", "--open-private")
	if status, _, got := clitest.Exchange(t, http.MethodPost, service.Clients+"/v1/chat/completions", "", `{"model":"ask","messages":[{"role":"user","content":"I forgot quux."}]}`); status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	service.Stop()
	var shown struct {
		Rows []struct {
			Reserved, Ended time.Time
		}
	}
	if err := json.Unmarshal([]byte(clitest.Printed(t, "ledger", "show", "messages", "--json")), &shown); err != nil || len(shown.Rows) != 1 {
		t.Fatalf("%v: %+v", err, shown)
	}
	if took := shown.Rows[0].Ended.Sub(shown.Rows[0].Reserved); took < pace {
		t.Errorf("the ledger shows that an answer took %v, and its pace is %v", took, pace)
	}
}
