package plan_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
)

var update = flag.Bool("update", false, "write docs/methods anew")

// TestMethodPages: docs/methods has a page for each method, as the method describes itself.
// With -update it writes them.
func TestMethodPages(t *testing.T) {
	const dir = "../../docs/methods"
	want := map[string]string{"README.md": method.Index()}
	for _, s := range method.List() {
		if s.Summary == "" || s.Idea == "" || s.Cost == "" || s.When == "" || s.Draws == "" || s.Needs == "" || s.Bounded() && (s.Cites == "" || s.Calibrates == "") {
			t.Errorf("%s does not describe itself: %+v", s.Name, s)
		}
		want[s.Name+".md"] = method.Page(s)
	}
	if *update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("docs/methods/%s is stale: run go test ./internal/plan -run TestMethodPages -update", name)
		}
	}
	there, err := os.ReadDir(dir)
	if err != nil || len(there) != len(want) {
		t.Errorf("docs/methods has %d files, and there are %d pages: %v", len(there), len(want), err)
	}
}
