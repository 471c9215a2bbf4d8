package suite_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lab/suite"
	"github.com/sotto-dp/sotto/lm"
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
	expect.NoError(t, err)
	expect.Equal(t, "after.Written", after.Written, 0)
	expect.Equal(t, "after.Answered", after.Answered, 0)
	expect.Len(t, "after.Rows", after.Rows, len(before.Rows))
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
	for _, ticket := range append(demo.Helpline().Tickets(fixtureRecords), demo.Helpline().HeldOut(fixtureItems)...) {
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

// plansIn counts the plans that a cache holds.
func plansIn(t *testing.T, cache string) int {
	t.Helper()
	plans, err := filepath.Glob(filepath.Join(cache, "plans", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return len(plans)
}

// TestPlansAreOfOne: plans are made anew for another model, whose tokens are others, and by
// another program, which may choose otherwise.
func TestPlansAreOfOne(t *testing.T) {
	dir := t.TempDir()
	s := helplineIn(t, dir, brief)
	o := options(t, nil)
	o.Cache, o.Out = filepath.Join(dir, "cache"), filepath.Join(dir, "out")
	o.Open = func(_ context.Context, name string) (lm.TrustedScorer, error) {
		return (&toy{name: "toy" + name}).trusted(), nil
	}
	s.Models = []string{"", "other"}
	if _, err := suite.Run(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	if n := plansIn(t, o.Cache); n != 4 {
		t.Errorf("%d plans of two methods for two models", n)
	}
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	another := filepath.Join(dir, "another")
	if err := os.WriteFile(another, append(program, '!'), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), another, "-test.run=^TestKilledChild$")
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	if n := plansIn(t, o.Cache); n != 6 {
		t.Errorf("%d plans after another program has made two more", n)
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
