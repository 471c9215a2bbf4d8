package result_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/result"
)

// FuzzReadRows: whatever is in a file of rows, opening it to add to loses no whole row.
func FuzzReadRows(f *testing.F) {
	f.Add([]byte("{\"key\":\"a\"}\n{\"key\":"))
	f.Add([]byte("\n\n{}"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "rows.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := result.ReadRows(path)
		log, opening := result.OpenLog(path)
		if (err == nil) != (opening == nil) {
			t.Fatalf("reading: %v, opening: %v", err, opening)
		}
		if err != nil {
			return
		}
		if err := errors.Join(log.Add(row(1)), log.Close()); err != nil {
			t.Fatal(err)
		}
		after, err := result.ReadRows(path)
		expect.NoError(t, err)
		expect.Len(t, "after", after, len(before)+1)
		expect.Equal(t, "after[len(before)].Key", after[len(before)].Key, row(1).Key)
	})
}
