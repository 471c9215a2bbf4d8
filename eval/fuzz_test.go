package eval_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/eval"
)

// FuzzReadItems: no test file makes the program fall over; what cannot be used is an
// *ItemError, and what can has answers of the task.
func FuzzReadItems(f *testing.F) {
	f.Add(uint8(0), []byte(`{"text": "a", "label": "World"}`))
	f.Add(uint8(1), []byte("label,text\nWorld,a\n"))
	f.Add(uint8(2), []byte("PAR1PAR1"))
	task := news()
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		endings := []string{".jsonl", ".csv", ".parquet", ".jsonl.gz", ".csv.zst"}
		path := filepath.Join(dir, "t"+endings[int(kind)%len(endings)])
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		items, err := eval.ReadItems(path, task)
		var bad *eval.ItemError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("%v", err)
		}
		if (err == nil) != (len(items) > 0) {
			t.Fatalf("%d items, %v", len(items), err)
		}
		for _, item := range items {
			if item.Output != "World" && item.Output != "Technology" {
				t.Fatalf("%q is no label", item.Output)
			}
		}
	})
}
