package prompt_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/prompt"
)

// TestReadList: public lists are read line by line, or as JSON.
func TestReadList(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain.txt":    {"one\n\n two \n", []string{"one", "two"}},
		"texts.jsonl":  {"\"a\\nb\"\n{\"input\": \"c\", \"x\": 1}\n", []string{"a\nb", "c"}},
		"wrong.jsonl":  {"{\"other\": \"c\"}\n", nil},
		"broken.jsonl": {"a\n", nil},
		"empty.txt":    {"\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := prompt.ReadList(path, "input", "condition")
			if fmt.Sprint(got) != fmt.Sprint(c.want) || (err == nil) != (c.want != nil) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	if _, err := prompt.ReadList(filepath.Join(dir, "absent"), "input", "condition"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
