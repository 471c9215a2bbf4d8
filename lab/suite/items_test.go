package suite

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/prompt"
)

func linesFile(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGrouped: lines with one question are one item, at the place of the first, whose
// answer stays the one to compare with.
func TestGrouped(t *testing.T) {
	got := GroupByInput([]eval.Item{{Input: "q", Output: "a"}, {Input: "r", Output: "x"}, {Input: "q", Output: "b"}, {Input: "q", Output: "a"}})
	want := []eval.Item{
		{Input: "q", Output: "a", References: []string{"a", "b"}},
		{Input: "r", Output: "x", References: []string{"x"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v instead of %v", got, want)
	}
	if got := GroupByInput(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// TestReadConditions: inputs of a public file, each once, without their outputs; the
// outputs need not be there.
func TestReadConditions(t *testing.T) {
	task, err := prompt.Builtin("samsum")
	if err != nil {
		t.Fatal(err)
	}
	closed, err := prompt.Builtin("agnews")
	if err != nil {
		t.Fatal(err)
	}
	const lines = `{"input": " A: hi\nB: ho"}` + "\n" + `{"input": "C: no", "output": "Never."}` + "\n" + `{"input": "A: hi\nB: ho "}` + "\n" + `{"input": " "}`
	got, err := readConditions(linesFile(t, lines), task)
	if want := []string{"A: hi\nB: ho", "C: no"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, c := range []struct {
		task        prompt.Task
		lines, want string
	}{
		{task, "", "no record has the column input filled in: name a file with some"},
		{task, `{"dialogue": "x"}`, `record 1: it has no column "input"`},
		{task, "x", `such as {"input": "…"}`},

		{closed, `{"text": "x", "label": "World"}`, "closed list of labels"},
	} {
		_, err := readConditions(linesFile(t, c.lines), c.task)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.lines, err)
		}
	}
}
