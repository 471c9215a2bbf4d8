package texts

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/evidence"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// telling is a table in which rows tell their label: cats are ill, and dogs are not.
func telling(t *testing.T, n int) {
	t.Helper()
	petsHome(t)
	rows := "owner,age,pet,ill\n"
	for i := range n {
		rows += fmt.Sprintf("owner %d,%d,%s,%s\n", i, i%29, []string{"cat", "dog"}[i%2], []string{"y", "n"}[i%2])
	}
	clitest.Write(t, "pets.csv", []byte(rows))
}

// TestEvidenceOfTable: rows of a table are added up by their schema, without an encoder of sentences, and choose
// whether the sum is used. The release brings all that reading it takes; it is refused where questions are not rows of
// its schema.
func TestEvidenceOfTable(t *testing.T) {
	telling(t, 2000)
	t.Setenv("SOTTO_MODELS", filepath.Join(t.TempDir(), "none")) // no encoder of sentences is at hand
	code, _, errs := clitest.Run(t, onPets("synth", "demos", "--set", "rounds=2", "--set", "records=64", "--set", "pool=4", "--size", "2000", "--epsilon", "40", "--set", "evidence=0.7", "--json")...)
	if code != 0 {
		t.Fatal(errs)
	}
	clitest.Done(t, "verify", "demos")
	e, err := evidence.Read("demos/evidence.json")
	expect.NoError(t, err)
	expect.True(t, "e.Rows()", e.Rows(), e)
	expect.Prefix(t, "e.Encoder", e.Encoder, "rows@")
	expect.Min(t, "e.Sums", e.Sums, 2)
	if strings.Contains(contents(t, "demos/evidence.json"), "owner") {
		t.Error("evidence holds a column that it is not about")
	}
	prompt := contents(t, "demos/prompt.json")
	if !strings.Contains(prompt, `"use": "`) {
		t.Fatalf("the records left evidence that is always right: %s", prompt)
	}
	clitest.Write(t, "test.csv", []byte("age,pet,ill\n3,cat,y\n4,dog,n\n29,cat,y\n17,dog,n\n"))
	clitest.Done(t, "table", "items", "--schema", "pets.toml", "--data", "test.csv", "--out", "items.jsonl")
	code, out, errs := clitest.Run(t, "eval", "--task", "table:pets.toml", "--demos", "demos", "--test", "items.jsonl", "--model", "tiny.gguf", "--json")
	if code != 0 {
		t.Fatal(errs)
	}
	for _, row := range clitest.Object(t, out)["rows"].([]any) {
		if value := row.(map[string]any)["value"]; value != 1. {
			t.Errorf("it is right for %v of the questions", value)
		}
	}

	// Another schema with the same labels writes other words.
	clitest.Write(t, "other.toml", []byte(strings.Replace(clitest.PetSchema, "{age} years, {pet}.", "Aged {age}: {pet}.", 1)))
	clitest.Done(t, "table", "items", "--schema", "other.toml", "--data", "test.csv", "--out", "others.jsonl")
	if code, _, errs := clitest.Run(t, "eval", "--task", "table:other.toml", "--demos", "demos", "--test", "others.jsonl", "--model", "tiny.gguf"); code == 0 || !strings.Contains(errs, "is not a row of the table that the evidence is about") {
		t.Errorf("%d: %s", code, errs)
	}
}
