package main

import (
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"
)

// TestLearnServes: an unmodified client gets labels of a route that has no language model, and none is asked
// for.
func TestLearnServes(t *testing.T) {
	suiteHome(t)
	t.Setenv("SOTTO_MODEL", "nothere.gguf")
	printed(t, "ledger", "init")
	printed(t, "learn", "--task", "task.toml", "--data", "records.jsonl", "--size", "400", "--epsilon", "4", "--out", "labels")
	printed(t, "serve", "route", "set", "labels", "--release", "labels", "--task", "task.toml")
	secret := object(t, printed(t, "serve", "key", "add", "clients", "--route", "*", "--json"))["secret"].(string)
	service := serving(t)
	config := openai.DefaultConfig(secret)
	config.BaseURL = service.clients + "/v1"
	client := openai.NewClientWithConfig(config)
	for _, queue := range []string{"billing", "repairs"} {
		answer, err := client.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{
			Model: "labels", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: planted + " " + queue + " 7"}},
		})
		if err != nil || answer.Choices[0].Message.Content != queue {
			t.Errorf("%s: %+v %v", queue, answer, err)
		}
	}
	if code, _, errs := run(t, "serve", "route", "set", "other"); code != 2 || !strings.Contains(errs, "--upstream is missing") {
		t.Errorf("a route of nothing is made: %s", errs)
	}
}
