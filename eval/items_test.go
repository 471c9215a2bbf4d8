package eval_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/prompt"
)

func news() prompt.Task {
	return prompt.Task{
		Name: "news", Kind: prompt.Classify, Text: "text", Label: "label", Labels: []string{"World", "Technology"},
		Aliases:  map[string]string{"Sci/Tech": "Technology", "2": "Technology"},
		Generate: prompt.Generation{Instruction: "Write news."}, Answer: prompt.AnswerLayout{Instruction: "Name the topic."},
	}.WithDefaults()
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

// TestReadItems: the same records come out of every format, with labels as the task
// spells them.
func TestReadItems(t *testing.T) {
	type record struct {
		ID    int64  `parquet:"id"`
		Label string `parquet:"label"`
		Text  string `parquet:"text"`
	}
	var b bytes.Buffer
	err := parquet.Write(&b, []record{{1, "World", "One, two"}, {2, "Sci/Tech", "A \"chip\"\nof lines"}, {3, "2", ""}})
	if err != nil {
		t.Fatal(err)
	}
	const lines = `{"id": 1, "text": "One, two", "label": "World"}` + "\n\n" +
		`{"id": 2, "text": "A \"chip\"\nof lines", "label": " Sci/Tech "}` + "\n" + `{"id": 3, "text": "", "label": 2}`
	const marked = "\ufeff{\"text\": \"a\", \"label\": \"World\"}\n"
	if got, err := eval.ReadItems(write(t, "t.jsonl", []byte(marked)), news()); err != nil || !reflect.DeepEqual(got, []eval.Item{{Input: "a", Output: "World"}}) {
		t.Errorf("with a byte order mark: %v, %v", got, err)
	}
	const table = "\ufeffid,label,text\n1,World,\"One, two\"\n2,Sci/Tech,\"A \"\"chip\"\"\nof lines\"\n3,2,\n"
	want := []eval.Item{{Input: "One, two", Output: "World"}, {Input: "A \"chip\"\nof lines", Output: "Technology"}, {Output: "Technology"}}
	for name, data := range map[string][]byte{
		"t.jsonl": []byte(lines), "t.jsonl.gz": gzipped(t, lines), "t.ndjson.zst": zstandard(t, lines),
		"t.csv": []byte(table), "t.csv.gz": gzipped(t, table), "t.parquet": b.Bytes(),
	} {
		got, err := eval.ReadItems(write(t, name, data), news())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestItemsOfGeneration: the question is the input, and its output may be any text.
func TestItemsOfGeneration(t *testing.T) {
	task, err := prompt.Builtin("samsum")
	if err != nil {
		t.Fatal(err)
	}
	got, err := eval.ReadItems(write(t, "t.jsonl", []byte(`{"input": "A: hi\nB: ho", "output": "They greet."}`)), task)
	if want := []eval.Item{{Input: "A: hi\nB: ho", Output: "They greet."}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestBadItems: errors say where, what and what to do.
func TestBadItems(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"t.jsonl", "", "has no records"},
		{"t.csv", "", "has no records"},
		{"t.csv", "label,text\n", "has no records"},
		{"t.jsonl", "{\"text\": \"a\", \"label\": \"World\"}\n{\"text\": \"a\", \"label\": \"Weather\"}", `record 2: its label is none that the task lists`},
		{"t.jsonl", `{"text": "a", "lable": "World"}`, `no column "label", which the task names, among 2`},
		{"t.csv", "txt,label\na,World\n", `no column "text"`},
		{"t.jsonl", `{"text": ["a"], "label": "World"}`, "not a string"},
		{"t.jsonl", `{"text": null, "label": "World"}`, "not a string"},
		{"t.jsonl", "World", "record 1: it is not a JSON object"},
		{"t.csv", "label,text\nWorld\n", "not CSV"},
		{"t.csv", "text,label\ncaf\xe9,World\n", "record 1: it is not in UTF-8: save"},
		{"t.jsonl", `{"text": "a", "Label": "World"}`, `no column "label", which the task names, but "Label"`},
		{"t.csv", "Jane Roe,World\na,World\n", `no column "text", which the task names, among 2: correct`},
		{"t.jsonl", `{"text": "` + strings.Repeat("a", 17<<20) + `", "label": "World"}`, "record 1: it cannot be read (longer than 16 MiB)"},
		{"t.csv", "text,label\na,World\n\"" + strings.Repeat("a", 17<<20), "record 2: it is not CSV: longer than 16 MiB"},
		{"t.jsonl", `{"text": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `, "label": "World"}`, "record 1: its text is not a string"},
		{"t.parquet", "PAR1", "not a Parquet file"},
		{"t.jsonl.gz", "not packed", "not compressed as its name says"},
		{"t.txt", "a", "does not show its format"},
	} {
		_, err := eval.ReadItems(write(t, c.name, []byte(c.data)), news())
		at := expect.At(t, "%s %.60q", c.name, c.data)
		expect.As[*eval.ItemError](at, err)
		expect.Contains(at, "err", fmt.Sprint(err), c.want)
		expect.True(at, "no Jane in the error", !strings.Contains(fmt.Sprint(err), "Jane"), fmt.Sprint(err))
	}
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing.jsonl")} {
		var item *eval.ItemError
		if _, err := eval.ReadItems(path, news()); !errors.As(err, &item) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestSubset: the choice is the same forever, a smaller one begins a larger one, and
// nothing is taken twice.
func TestSubset(t *testing.T) {
	var items []eval.Item
	for i := range 50 {
		items = append(items, eval.Item{Input: fmt.Sprint(i)})
	}
	all, err := eval.Subset(items, 0)
	if err != nil || len(all) != 50 {
		t.Fatalf("%d items, %v", len(all), err)
	}
	seen := map[string]bool{}
	for _, item := range all {
		seen[item.Input] = true
	}
	if len(seen) != 50 {
		t.Errorf("only %d different items", len(seen))
	}
	for _, n := range []int{1, 7, 49, 50, 80} {
		some, err := eval.Subset(items, n)
		if err != nil || !reflect.DeepEqual(some, all[:min(n, 50)]) {
			t.Errorf("%d: %v, %v", n, some, err)
		}
	}
	// As it was when it was first run: results of different versions are about the same items.
	if got := all[0].Input + " " + all[1].Input + " " + all[2].Input; got != pinned {
		t.Errorf("the permutation has changed: it begins with %q", got)
	}
	if none, err := eval.Subset([]eval.Item(nil), 3); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}

// pinned is how a permutation of 50 items begins.
const pinned = "38 30 29"
