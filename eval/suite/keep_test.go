package suite_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/demo"
	"sotto/eval/suite"
)

// TestCorrectedTest: where only right answers of the test are corrected, nothing is asked
// again, and rows are others than before.
func TestCorrectedTest(t *testing.T) {
	s := helpline(t, brief)
	s.Items = 0
	o := options(t, &toy{name: "toy"})
	before, err := suite.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(suite.Dir(s), "test.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	corrected := strings.ReplaceAll(string(data), `"label":"Money"`, `"label":"Health"`)
	if corrected == string(data) {
		t.Fatal("nothing was corrected")
	}
	if err := os.WriteFile(path, []byte(corrected), 0o600); err != nil {
		t.Fatal(err)
	}
	after, err := suite.Run(t.Context(), s, o)
	if err != nil || after.Written != 0 || after.Answered != 0 || len(after.Rows) != len(before.Rows) {
		t.Fatalf("%+v, %v", after, err)
	}
	keys := map[string]bool{}
	for _, r := range before.Rows {
		keys[r.Key] = true
	}
	for _, r := range after.Rows {
		if keys[r.Key] {
			t.Errorf("%s has the same key for another test", r.Name)
		}
	}
}

// TestTextsStay: records and texts are in the cache, which others cannot read, also in a
// folder that they can; rows have none of them.
func TestTextsStay(t *testing.T) {
	s := helpline(t, everything)
	o := options(t, &toy{name: "toy"})
	if err := os.MkdirAll(o.Cache, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := suite.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	var kept, written []byte
	collect := func(dir string, into *[]byte, look func(path string, info fs.FileInfo)) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == dir {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			look(path, info)
			if d.IsDir() {
				return nil
			}
			data, err := os.ReadFile(path)
			*into = append(*into, data...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	collect(o.Cache, &kept, func(path string, info fs.FileInfo) {
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others can read %s: %v", path, info.Mode())
		}
	})
	collect(o.Out, &written, func(string, fs.FileInfo) {})
	found := 0
	for _, ticket := range append(demo.Tickets(fixtureRecords), demo.HeldOut(fixtureItems)...) {
		for _, part := range pieces(ticket.Text) {
			if bytes.Contains(written, part) {
				t.Errorf("a text is among the rows: %q", part)
			}
			if bytes.Contains(kept, part) {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no record is in the cache: nothing was tested")
	}
}

// pieces of a text, each of four words.
func pieces(text string) [][]byte {
	words := strings.Fields(text)
	var out [][]byte
	for i := 0; i+4 <= len(words); i += 4 {
		out = append(out, []byte(strings.Join(words[i:i+4], " ")))
	}
	return out
}
