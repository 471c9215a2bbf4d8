package table_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
)

// TestOneFileTwice: each row of a file that is read twice would count twice, so that a file is
// refused that is named by two paths, by a link of either kind, or that has a copy.
func TestOneFileTwice(t *testing.T) {
	dir := t.TempDir()
	o := table.Options{Schema: visits, Private: filepath.Join(dir, "private")}
	path := filepath.Join(dir, "a.csv")
	write := func(name string, data []byte) string {
		full := filepath.Join(dir, name)
		if err := os.WriteFile(full, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return full
	}
	rows := encodeCSV(t, someVisits(3))
	write("a.csv", rows)
	other := write("b.csv", encodeCSV(t, someVisits(4)))
	hard, soft := filepath.Join(dir, "hard.csv"), filepath.Join(dir, "soft.csv")
	if err := errors.Join(os.Link(path, hard), os.Symlink(path, soft), os.Mkdir(filepath.Join(dir, "sub"), 0o700)); err != nil {
		t.Fatal(err)
	}
	both := func(second string) error {
		d, err := table.OpenFiles(t.Context(), []string{path, second}, o)
		if err == nil {
			_, err = d.Fingerprint(context.Background())
			err = errors.Join(err, d.Close())
		}
		return err
	}
	for name, second := range map[string]string{
		"the same path": path, "another path": filepath.Join(dir, "sub", "..") + "/./a.csv", "a hard link": hard, "a symbolic link": soft,
		"a copy": write("copy.csv", rows),
	} {
		if err := both(second); err == nil || !strings.Contains(err.Error(), "count twice") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := both(other); err != nil {
		t.Errorf("two files: %v", err)
	}
}
