package suite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
)

// fixtureRecords and fixtureItems are the sizes of the files that helpline writes.
const (
	fixtureRecords = 400
	fixtureItems   = 40
)

// helpline writes the demo's task and data into a folder, with a suite about them.
func helpline(t testing.TB, text string) suite.Suite {
	t.Helper()
	return helplineIn(t, t.TempDir(), text)
}

func helplineIn(t testing.TB, dir, text string) suite.Suite {
	t.Helper()
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tickets := func(name string, list []demo.Ticket) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := demo.WriteJSONL(f, list); err != nil {
			t.Fatal(err)
		}
	}
	put("task.toml", demo.Helpline().TaskFile())
	tickets("train.jsonl", demo.Helpline().Tickets(fixtureRecords))
	tickets("test.jsonl", demo.Helpline().HeldOut(fixtureItems))
	put("suite.toml", []byte(text+fmt.Sprintf(`
[[dataset]]
name = "helpline"
task = "./task.toml"
train = "train.jsonl"
test = "test.jsonl"
size = %d
tokens = 10
`, fixtureRecords)))
	s, err := suite.Load(filepath.Join(dir, "suite.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everything has one of each kind of method.
const everything = `
title = "All there is"
seeds = 2
first_seed = 7
items = 12
epsilon = [1, 4]
shots = [3]
calibrate = [true, false]

[[method]]
method = "zero"

[[method]]
method = "public"

[[method]]
method = "clipped"
batch = 16

[[method]]
method = "gaussian"
epsilon = [8]
prompts = 4
per_prompt = 1

[[method]]
method = "nonprivate"
prompts = 4
per_prompt = 1

[[method]]
method = "real"
`

// options for a suite with a model, in folders of their own.
func options(t testing.TB, m *toy) suite.Options {
	t.Helper()
	return optionsIn(t.TempDir(), m)
}

func optionsIn(dir string, m *toy) suite.Options {
	return suite.Options{
		Open:  func(context.Context, string) (lm.TrustedScorer, error) { return m.trusted(), nil },
		Cache: filepath.Join(dir, "cache"), Out: filepath.Join(dir, "out"), Version: "test",
	}
}

// timeless leaves out what is never twice the same.
func timeless(rows []result.Row) []result.Row {
	out := make([]result.Row, len(rows))
	for i, r := range rows {
		r.WriteSeconds, r.AnswerSeconds = 0, 0
		out[i] = r
	}
	return out
}

func equal(t *testing.T, what string, got, want []result.Row) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d rows instead of %d", what, len(got), len(want))
	}
	for i := range got {
		if g, w := timeless(got)[i], timeless(want)[i]; !reflect.DeepEqual(g, w) {
			t.Fatalf("%s: row %d is\n%+v instead of\n%+v", what, i, g, w)
		}
	}
}

// files reads the rows that a run left, and checks that both formats hold them.
func files(t *testing.T, out string) []result.Row {
	t.Helper()
	lines, err := result.ReadRows(filepath.Join(out, "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	columns, err := result.ReadRows(filepath.Join(out, "rows.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(lines, columns) {
		t.Errorf("rows.jsonl and rows.parquet differ")
	}
	return lines
}
