package texts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestLearnServes: an unmodified client gets labels of a route that has no language model, and none is asked
// for.
func TestLearnServes(t *testing.T) {
	clitest.TicketHome(t)
	t.Setenv("SOTTO_MODEL", "nothere.gguf")
	clitest.Printed(t, "ledger", "init")
	clitest.Printed(t, "learn", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--out", "labels")
	clitest.Printed(t, "serve", "route", "set", "labels", "--release", "labels", "--task", "task.toml")
	secret := clitest.Object(t, clitest.Printed(t, "serve", "key", "add", "clients", "--route", "*", "--json"))["secret"].(string)
	service := clitest.Serving(t)
	config := openai.DefaultConfig(secret)
	config.BaseURL = service.Clients + "/v1"
	client := openai.NewClientWithConfig(config)
	for _, queue := range []string{"billing", "repairs"} {
		answer, err := client.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{
			Model: "labels", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: clitest.Planted + " " + queue + " 7"}},
		})
		if err != nil || answer.Choices[0].Message.Content != queue {
			t.Errorf("%s: %+v %v", queue, answer, err)
		}
	}
	if code, _, errs := clitest.Run(t, "serve", "route", "set", "other"); code != 2 || !strings.Contains(errs, "--upstream is missing") {
		t.Errorf("a route of nothing is made: %s", errs)
	}
}

// TestLearnFromTable: rows of a table are read by their schema, for which nothing is fetched, and a text that is no
// row gets an error that says how rows read.
func TestLearnFromTable(t *testing.T) {
	clitest.Home(t)
	t.Setenv("SOTTO_MODELS", t.TempDir())
	rows := "age,pet,ill\n"
	for i := range 400 {
		rows += fmt.Sprintf("%d,%s,%s\n", i%29, []string{"cat", "dog"}[i%2], []string{"y", "n"}[i%2])
	}
	clitest.Write(t, "pets.toml", []byte(clitest.PetSchema))
	clitest.Write(t, "pets.csv", []byte(rows))
	clitest.Printed(t, "ledger", "init")
	clitest.Printed(t, "learn", "--task", "table:pets.toml", "--data", "pets.csv", "--size", "400", "--epsilon", "4", "--out", "ill")
	clitest.Printed(t, "table", "items", "--schema", "pets.toml", "--data", "pets.csv", "--out", "items.jsonl")
	found := clitest.Object(t, clitest.Printed(t, "predict", "ill", "--data", "items.jsonl", "--json"))
	accuracy, _ := found["accuracy"].(map[string]any)
	if right, _ := accuracy["right"].(float64); right < 0.9 {
		t.Errorf("a law that rows follow is not found: %v", accuracy)
	}
	// The same of rows as they are.
	found = clitest.Object(t, clitest.Printed(t, "predict", "ill", "--data", "pets.csv", "--json"))
	rowAccuracy, _ := found["accuracy"].(map[string]any)
	expect.Equal(t, "rowAccuracy['right']", rowAccuracy["right"], accuracy["right"])
	expect.Equal(t, "rowAccuracy['labelled']", rowAccuracy["labelled"], accuracy["labelled"])
	expect.Equal[any](t, "rowAccuracy['commonest_label']", rowAccuracy["commonest_label"], 0.5)
	expect.Equal[any](t, "found['epsilon']", found["epsilon"], 4.0)
	clitest.Write(t, "other.jsonl", []byte(`{"text": "A poem about the sea."}`+"\n"))
	if code, _, errs := clitest.Run(t, "predict", "ill", "--data", "other.jsonl"); code != 2 || !strings.Contains(errs, "sotto table items") {
		t.Errorf("a text that is no row: %d %s", code, errs)
	}
}
