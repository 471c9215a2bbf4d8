package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// clientPlace serves a model that answers at once with examples of a release ("tickets"), without ("plain"),
// and from private records ("ask", two answers), and returns the service and a key for all.
func clientPlace(t *testing.T) (*clitest.Server, string) {
	t.Helper()
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	t.Setenv("SOTTO_MODEL", clitest.Abs(t, "tiny.gguf"))
	clitest.Messages(t, 200)
	clitest.Write(t, "teams-table.toml", []byte(`title = "Messages"
label = "team"
template = "They waited {waited} days."
question = "Which team is this for?"

[[column]]
name = "waited"
kind = "numeric"
low = 0
high = 31

[[column]]
name = "team"
kind = "categorical"
values = ["billing", "login"]
`))
	clitest.Write(t, "rows.csv", []byte("waited,team\n"+strings.Repeat("3,billing\n20,login\n", 200)))
	clitest.Printed(t, "ledger", "init")
	clitest.Printed(t, "table", "profile", "--schema", "teams-table.toml", "--data", "rows.csv", "--size", "400", "--epsilon", "2", "--group", "team", "--out", "demos")
	clitest.Printed(t, "serve", "route", "set", "tickets", "--upstream", "embedded", "--release", "demos", "--task", "table:teams-table.toml")
	clitest.Printed(t, "serve", "route", "set", "plain", "--upstream", "embedded")
	clitest.Printed(t, "serve", "route", "answer", "ask", "--task", "teams.toml", "--data", "messages.jsonl", "--size", "200", "--epsilon", "8", "--delta", "1e-5", "--answers", "2", "--latency-quantum", "10ms")
	secret := clitest.Object(t, clitest.Printed(t, "serve", "key", "add", "clients", "--route", "*", "--json"))["secret"].(string)
	return clitest.Serving(t), secret
}

// TestGoClient: an unmodified client of Go's users works.
func TestGoClient(t *testing.T) {
	service, secret := clientPlace(t)
	config := openai.DefaultConfig(secret)
	config.BaseURL = service.Clients + "/v1"
	client := openai.NewClientWithConfig(config)
	models, err := client.ListModels(t.Context())
	if err != nil || len(models.Models) != 3 {
		t.Fatalf("%v %v", models, err)
	}
	seed := 1
	ask := openai.ChatCompletionRequest{Model: "tickets", MaxCompletionTokens: 8, Seed: &seed, Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "They waited 20 days."}}}
	whole, err := client.CreateChatCompletion(t.Context(), ask)
	expect.NoError(t, err)
	expect.True(t, "whole.Choices[0].Message.Content that is not empty", whole.Choices[0].Message.Content != "")
	expect.True(t, "whole.Usage.TotalTokens other than 0", whole.Usage.TotalTokens != 0, whole.Usage.TotalTokens)
	expect.Equal(t, "whole.Header().Get('Sotto-Route')", whole.Header().Get("Sotto-Route"), "tickets")
	ask.Stream = true
	stream, err := client.CreateChatCompletionStream(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var said strings.Builder
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range event.Choices {
			said.WriteString(c.Delta.Content)
		}
	}
	if said.String() != whole.Choices[0].Message.Content {
		t.Errorf("streamed %q, at once %q", said.String(), whole.Choices[0].Message.Content)
	}
	vectors, err := client.CreateEmbeddings(t.Context(), openai.EmbeddingRequest{Model: "plain", Input: []string{"a", "b"}})
	if err != nil || len(vectors.Data) != 2 {
		t.Errorf("%v %v", vectors, err)
	}
	private := openai.ChatCompletionRequest{Model: "ask", Messages: ask.Messages}
	for i := range 3 {
		answer, err := client.CreateChatCompletion(t.Context(), private)
		var refused *openai.APIError
		switch {
		case i < 2 && (err != nil || !slices.Contains([]string{"billing", "login"}, answer.Choices[0].Message.Content) || answer.Header().Get("Sotto-Epsilon-Left") == ""):
			t.Errorf("%+v %v", answer, err)
		case i == 2 && (!errors.As(err, &refused) || refused.HTTPStatusCode != http.StatusPaymentRequired):
			t.Errorf("%v", err)
		}
	}
}

// TestPythonClients: unmodified clients of Python's users work. SOTTO_TEST_CLIENTS names a Python
// that has them; make test-clients sees to it.
func TestPythonClients(t *testing.T) {
	python := os.Getenv("SOTTO_TEST_CLIENTS")
	script, err := filepath.Abs(filepath.Join("testdata", "clients", "clients.py"))
	if err != nil {
		t.Fatal(err)
	}
	if python == "" {
		t.Skip("make test-clients runs it")
	}
	service, secret := clientPlace(t)
	cmd := exec.Command(python, script)
	cmd.Env = append(os.Environ(), "SOTTO_URL="+service.Clients, "SOTTO_KEY="+secret, "DSPY_CACHEDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err, service.Stderr.String())
	}
}

// TestPythonAgents: the official client of Python's agents works. SOTTO_TEST_CLIENTS is as above.
func TestPythonAgents(t *testing.T) {
	python := os.Getenv("SOTTO_TEST_CLIENTS")
	script, err := filepath.Abs(filepath.Join("testdata", "clients", "agents.py"))
	if err != nil {
		t.Fatal(err)
	}
	if python == "" {
		t.Skip("make test-clients runs it")
	}
	service := agentPlace(t)
	cmd := exec.Command(python, script)
	cmd.Env = append(os.Environ(), "SOTTO_PROGRAM="+filepath.Join(clitest.Built(t), "sotto"), "SOTTO_URL="+service.Clients)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err, service.Stderr.String())
	}
}

// TestDescription: a fuzzer finds nothing that the descriptions of the two addresses do not say.
// SOTTO_TEST_FUZZER names schemathesis; make test-clients sees to it.
func TestDescription(t *testing.T) {
	fuzzer := os.Getenv("SOTTO_TEST_FUZZER")
	if fuzzer == "" {
		t.Skip("make test-clients runs it")
	}
	service, secret := clientPlace(t)
	admin := clitest.Object(t, clitest.Printed(t, "serve", "key", "add", "fuzzer", "--admin", "--json"))["secret"].(string)
	for name, c := range map[string]struct{ address, key string }{"clients": {service.Clients, secret}, "admin": {service.Admin, admin}} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(fuzzer, "run", c.address+"/openapi.json", "--url", c.address, "-H", "Authorization: Bearer "+c.key, "--max-examples", "60", "--phases", "examples,coverage,fuzzing", "--exclude-checks", "positive_data_acceptance,unsupported_method,allow_header_conformance").CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}
