package texts

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/lmtest"
)

// petsHome is a home with a model, a schema, and a table of pets and their owners.
func petsHome(t *testing.T) {
	t.Helper()
	clitest.Home(t)
	lmtest.TinyModel(t, "tiny.gguf")
	rows := "owner,age,pet,ill\n"
	for i := range 200 {
		rows += fmt.Sprintf("owner %d,%d,%s,%s\n", i/2, i%29, []string{"cat", "dog"}[i%2], []string{"y", "n", "n"}[i%3])
	}
	clitest.Write(t, "pets.toml", []byte(clitest.PetSchema))
	clitest.Write(t, "pets.csv", []byte(rows))
}

// onPets are the arguments of a verb that reads the table.
func onPets(verb, out string, more ...string) []string {
	return append(append(strings.Fields(verb), "--task", "table:pets.toml", "--data", "pets.csv", "--size", "200", "--epsilon", "1", "--delta", "1e-6",
		"--model", "tiny.gguf", "--out", out), more...)
}

// TestChooseFromTable: records of a table are put into words by its schema, and choose among
// rows that are made up by it, or examples that are given. What comes out can be measured on
// public and private rows, and only one budget pays, however the table is read.
func TestChooseFromTable(t *testing.T) {
	petsHome(t)
	short := []string{"--set", "rounds=2", "--set", "records=8", "--set", "pool=6"}
	code, out, errs := clitest.Run(t, onPets("synth", "demos", append(short, "--json")...)...)
	if code != 0 {
		t.Fatal(errs)
	}
	o := clitest.Object(t, out)
	expect.Equal[any](t, "o['private']", o["private"], true)
	expect.True(t, "o['chosen'] other than nil", o["chosen"] != nil)
	expect.True(t, "o['worth'] other than nil", o["worth"] != nil)
	expect.True(t, "o['charge'] that is not empty", o["charge"] != "")
	clitest.Done(t, "verify", "demos")
	var planned struct {
		Shots  int
		Choose struct {
			Examples []struct{ Input, Output string }
		}
	}
	data, err := os.ReadFile("demos/plan.json")
	expect.NoError(t, err)
	expect.NoError(t, json.Unmarshal(data, &planned))
	expect.Equal(t, "planned.Shots", planned.Shots, 0)
	expect.Len(t, "planned.Choose.Examples", planned.Choose.Examples, 6)
	for i, e := range planned.Choose.Examples {
		if !strings.HasSuffix(e.Input, ". Ill?") || e.Output != []string{"Yes", "No"}[i%2] {
			t.Errorf("example %d is %q, %q", i, e.Input, e.Output)
		}
	}
	clitest.Write(t, "test.csv", []byte("age,pet,ill\n3,cat,y\n4,dog,n\n"))
	clitest.Done(t, "table", "items", "--schema", "pets.toml", "--data", "test.csv", "--out", "items.jsonl")
	clitest.Done(t, "eval", "--task", "table:pets.toml", "--demos", "zero", "--demos", "demos", "--test", "items.jsonl", "--model", "tiny.gguf")

	// The budget is used up: as texts, as a table, saved anew, and as public rows would be.
	clitest.Write(t, "again.csv", []byte("\ufeff"+strings.ReplaceAll(contents(t, "pets.csv"), "\n", "\r\n")))
	for i, args := range [][]string{
		onPets("synth", "a", short...), onPets("synth", "b", "--from", "items.jsonl"), onPets("eval private", "c", "--demos", "demos"),
		onPets("synth", "d", append(short, "--data", "again.csv")...),
		{"table", "profile", "--schema", "pets.toml", "--data", "pets.csv", "--size", "200", "--epsilon", "1", "--out", "e"},
		{"table", "profile", "--schema", "pets.toml", "--data", "again.csv", "--size", "200", "--epsilon", "1", "--out", "f"},
	} {
		if code, _, errs := clitest.Run(t, args...); code != ui.Refused {
			t.Errorf("%d: a fresh budget, %d: %s", i, code, errs)
		}
	}
}

func contents(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPlainTableTasks: every verb on records takes a table, by owner too, from a database, and in
// words; ready-made sets and examples take the place of made-up rows.
func TestPlainTableTasks(t *testing.T) {
	petsHome(t)
	clitest.Done(t, "table", "profile", "--schema", "pets.toml", "--data", "pets.csv", "--size", "200", "--epsilon", "1", "--out", "profile")
	if code, _, errs := clitest.Run(t, onPets("synth", "spent")...); code != ui.Refused {
		t.Errorf("a profile did not count, %d: %s", code, errs)
	}
	clitest.Done(t, "table", "items", "--schema", "pets.toml", "--data", "pets.csv", "--out", "words.jsonl", "--limit", "60")
	clitest.Write(t, "two.jsonl", []byte(strings.Join(strings.SplitAfterN(contents(t, "words.jsonl"), "\n", 3)[:2], "")))
	seeded := []string{"--seed", "1", "--set", "records=8"}
	for name, args := range map[string][]string{
		"examples":    onPets("synth", "o1", append(seeded, "--set", "rounds=1", "--examples", "profile", "--set", "measurement-share=0")...),
		"sets":        onPets("synth", "o2", append(seeded, "--from", "profile", "--from", "two.jsonl", "--shots", "2")...),
		"written":     onPets("synth", "o3", append(seeded, "--set", "rounds=1", "--set", "generation-share=0.5", "--set", "pool=2", "--set", "tokens=3", "--set", "batch=4")...),
		"by owner":    onPets("synth", "o4", append(seeded, "--set", "rounds=1", "--unit", "owner", "--size", "100")...),
		"in words":    onPets("synth", "o5", append(seeded, "--set", "rounds=1", "--data", "words.jsonl", "--size", "60")...),
		"measured":    onPets("eval private", "o6", "--seed", "1", "--records", "8", "--demos", "profile", "--demos", "zero"),
		"counted":     onPets("synth", "o8", append(seeded, "--set", "rounds=1", "--size", "auto", "--set", "min-size=50")...),
		"only writes": onPets("synth", "o7", "--seed", "1", "--method", "clipped", "--set", "tokens=3", "--shots", "2", "--set", "batch=4"),
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := clitest.Run(t, append(args, "--json")...)
			if code != 0 {
				t.Errorf("%s", errs)
				return
			}
			clitest.Object(t, out)
		})
	}
	code, out, errs := clitest.Run(t, "answer", "--task", "table:pets.toml", "--data", "pets.csv", "--size", "200", "--epsilon", "1", "--delta", "1e-6", "--model", "tiny.gguf", "--seed", "1", "--max-tokens", "2", "--set", "batch=4", "--input", "3 years, a cat. Ill?")
	if code != 0 || !strings.Contains(out+errs, "NOT PRIVATE") {
		t.Errorf("%s%s", out, errs)
	}
	code, out, errs = clitest.Run(t, "plan", "--task", "table:pets.toml", "--size", "200", "--epsilon", "1", "--model", "tiny.gguf")
	expect.Equal(t, "exit code with "+errs, code, 0)
	expect.Contains(t, "out", out, "choose")
	expect.True(t, "no without an example in errs", !strings.Contains(errs, "without an example"), errs)
	for _, c := range []struct{ header, want string }{{"age,pet\n1,cat\n", `"ill"`}, {"age,pet,ill\n1,cow,y\n2,cat,n\n", "record 1: column \"pet\": a value that the schema does not allow"}} {
		clitest.Write(t, "wrong.csv", []byte(c.header))
		code, _, errs := clitest.Run(t, onPets("synth", "no", "--data", "wrong.csv", "--seed", "1")...)
		expect.True(t, "code other than 0", code != 0, code)
		expect.Contains(t, "errs", errs, c.want)
		expect.True(t, "no cow in errs", !strings.Contains(errs, "cow"), errs)
	}
}

// TestTableTasksInDatabases: rows of a database have one budget, whether they are read as a
// table or as texts.
func TestTableTasksInDatabases(t *testing.T) {
	clitest.Home(t)
	clitest.BankFiles(t)
	clitest.FillSQLite(t, "bank.db", demo.Loans(500))
	init := []string{"ledger", "init", "bank", "--epsilon", "1", "--delta", "1e-6", "--data", "bank.db"}
	asTexts := []string{"--task", "table:loans.toml", "--query", "SELECT * FROM loans ORDER BY rowid"}
	clitest.Done(t, slices.Concat(init, asTexts)...)
	clitest.Done(t, clitest.ProfileArgs("paid", "--data", "bank.db", "--table", "loans")...)
	init[2] = "again"
	for _, args := range [][]string{slices.Concat(init, asTexts), slices.Concat(init, []string{"--schema", "loans.toml", "--table", "loans"})} {
		if code, _, errs := clitest.Run(t, args...); code != ui.Wrong {
			t.Errorf("it was entered again, %d: %s", code, errs)
		}
	}
	if code, _, errs := clitest.Run(t, clitest.ProfileArgs("more", "--data", "loans.csv")...); code != ui.Refused {
		t.Errorf("a fresh budget, %d: %s", code, errs)
	}
}
