package plan_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
)

var update = flag.Bool("update", false, "write docs/methods anew")

// TestMethodPages: docs/methods has a page for each method, as the method describes itself.
// With -update it writes them.
func TestMethodPages(t *testing.T) {
	const dir = "../../docs/methods"
	want := map[string]string{"README.md": index()}
	if _, err := os.Stat(filepath.Join(dir, "own.md")); err != nil {
		t.Error(err)
	}
	for _, s := range method.List() {
		if s.Summary == "" || s.Idea == "" || s.Cost == "" || s.When == "" || s.Draws == "" || s.Needs == "" || s.Bounded() && (s.Cites == "" || s.Calibrates == "") {
			t.Errorf("%s does not describe itself: %+v", s.Name, s)
		}
		want[s.Name+".md"] = page(s)
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
	if err != nil || len(there) != len(want)+1 { // own.md is written by hand
		t.Errorf("docs/methods has %d files, and there are %d pages: %v", len(there), len(want)+1, err)
	}
}

// page returns a method's page of docs/methods, in Markdown.
func page(s method.Spec) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n\n", args...) }
	line("# %s", s.Name)
	line("%s.", capital(s.Summary))
	line("%s", s.Idea)
	line("%s **When.** %s", "**Cost.** "+s.Cost, s.When)
	line("## Guarantee")
	switch s.Guarantee {
	case method.Proven:
		line("(ε, δ)-differential privacy, with a charge and a certificate. A plan meets ε by turning: %s. Draws: %s.", s.Calibrates, s.Draws)
	case method.Claimed:
		line("**NOT PROVEN.** A paper claims it; there is neither a charge nor a certificate. Turned: %s. Draws: %s.", s.Calibrates, s.Draws)
	case method.Free:
		line("No record is read, so that it costs nothing.")
	default:
		line("**None.** It protects nobody, and needs `--non-private`. Draws: %s.", s.Draws)
	}
	if s.Proof != "" && s.Guarantee == method.Proven {
		line("Proof: %s.", s.Proof)
	}
	if s.Cites != "" {
		line("Papers: %s.", s.Cites)
	}
	line("Needs of a model: %s.", s.Needs)
	line("## Settings")
	if len(s.Settings) == 0 {
		line("None.")
		return strings.TrimRight(out.String(), "\n") + "\n"
	}
	out.WriteString("| Setting | Flag | Values | Default | What it does |\n|---|---|---|---|---|\n")
	for _, one := range s.Settings {
		flag := "`--" + one.Flag() + "`"
		if one.Suites || s.Kind == method.Choosing {
			flag = ""
		}
		otherwise := one.Otherwise()
		if one.Type == method.Bool {
			otherwise = "false"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", one.Name, flag, one.Bounds(), otherwise, strings.ReplaceAll(one.Help, "`", ""))
	}
	return out.String()
}

// index returns the list of all methods of docs/methods, in Markdown.
func index() string {
	var out strings.Builder
	out.WriteString("# Methods\n\nEach page is made from what the method says of itself in its own file; `sotto plan` compares them on a task.\n")
	for _, kind := range []method.Kind{method.Choosing, method.Texts, method.Answers, method.Profile, method.Perturbation} {
		fmt.Fprintf(&out, "\n## %s\n\n| Method | Guarantee | What it does |\n|---|---|---|\n", capital(string(kind)))
		for _, s := range method.List(kind) {
			fmt.Fprintf(&out, "| [%s](%s.md) | %s | %s |\n", s.Name, s.Name, s.Guarantee, s.Summary)
		}
	}
	return out.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
