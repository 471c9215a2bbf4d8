package check

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// compiled makes a program of testdata.
func compiled(t *testing.T, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), name)
	if runtime.GOOS == "windows" {
		t.Skip("commands are those of a shell")
	}
	out, err := exec.Command("go", "build", "-o", to, "./testdata/"+name).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return to
}

// TestAuditCommand: mistakes that published programs have are found by what the programs print, and
// the same done right is not refuted. Audits have a confidence of 1 - 1e-9 and seeds.
func TestAuditCommand(t *testing.T) {
	program := compiled(t, "published")
	for name, c := range map[string]struct{ with, without, claim, delta, adjacency, runs string }{
		"reseeding": {"first\nfirst\nsecond\n", "first\nfirst\n", "repeat(2, gaussian(1))", "1e-5", "add-remove", "4000"},
		"labels":    {"sport\nbusiness\nrare-disease\n", "sport\nbusiness\n", "pure(1)", "0", "add-remove", "4000"},
		"threshold": {"40\n45\n60\n62\n1000\n", "40\n45\n60\n62\n5\n", "rr(1, 2)", "0", "replace-one", "20000"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in, out := filepath.Join(dir, "with it.txt"), filepath.Join(dir, "without.txt")
			for path, text := range map[string]string{in: c.with, out: c.without} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			audit := func(more string) auditResult {
				code, stdout, stderr := clitest.Run(t, "audit", "--command", program+" "+name+" {data} {seed} {runs}"+more, "--with", in, "--without", out,
					"--claim", c.claim, "--delta", c.delta, "--adjacency", c.adjacency, "--runs", c.runs, "--confidence", "0.999999999", "--seed", "3", "--json")
				var r auditResult
				if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Games) != 1 {
					t.Fatalf("code %d, %v\n%s\n%s", code, err, stdout, stderr)
				}
				if want := map[bool]int{true: 4}[r.Refuted]; code != want {
					t.Errorf("code %d, want %d", code, want)
				}
				return r
			}
			if r := audit(""); !r.Refuted {
				t.Errorf("the mistake is not found: %+v", r.Games[0])
			}
			if r := audit(" right"); r.Refuted {
				t.Errorf("what is right is refuted: %+v", r.Games[0])
			}
		})
	}
}

// TestAuditCommandFails: what cannot be audited gets an error that says what to do, and no conclusion.
func TestAuditCommandFails(t *testing.T) {
	clitest.Home(t)
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(name, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, args := range map[string][]string{
		"they must all be set":      {"--command", "cat {data}"},
		"cannot be read":            {"--command", "cat {data}", "--with", "a", "--without", "nowhere"},
		"should have {data}":        {"--command", "cat", "--with", "a", "--without", "b"},
		"run it by hand":            {"--command", "echo to the point >&2; exit 3; {data}", "--with", "a", "--without", "b"},
		"one for each run":          {"--command", "cat {data} # {runs}", "--with", "a", "--without", "b"},
		"none of the others can be": {"--command", "cat {data}", "--with", "a", "--without", "b", "--mechanism", "gaussian"},
		"would change nothing":      {"--claim", "pure(1)"},
		`there is no game "nobody"`: {"--mechanism", "nobody"},
		"--runs is 3":               {"--runs", "3"},
		"are the same file":         {"--command", "cat {data}", "--with", "a", "--without", "a"},
		"leave the quotes":          {"--command", "cat '{data}'", "--with", "a", "--without", "b"},
		"should end in .html":       {"--report", "x.txt"},
		"--confidence is 1":         {"--confidence", "1"},
		"delta is 2":                {"--command", "cat {data}", "--with", "a", "--without", "b", "--delta", "2"},
	} {
		t.Run(want, func(t *testing.T) {
			if code, _, stderr := clitest.Run(t, append([]string{"audit"}, args...)...); code == 0 || !strings.Contains(stderr, want) {
				t.Errorf("%v: code %d, %s", args, code, stderr)
			}
		})
	}
}

// TestAuditMechanisms: a seed repeats an audit, and the page has its plots.
func TestAuditMechanisms(t *testing.T) {
	clitest.Home(t)
	args := []string{"audit", "--mechanism", "gaussian", "--mechanism", "local", "--runs", "2000", "--seed", "5", "--report", "audit.html"}
	code, first, stderr := clitest.Run(t, args...)
	if code != 0 || !strings.Contains(first, "No claim of 2 is refuted") {
		t.Fatalf("code %d\n%s\n%s", code, first, stderr)
	}
	if _, again, _ := clitest.Run(t, args...); again != first {
		t.Errorf("the same seed gives something else:\n%s\n%s", first, again)
	}
	page, err := os.ReadFile("audit.html")
	expect.NoError(t, err)
	expect.Equal(t, "number of <svg", strings.Count(string(page), "<svg"), 3)
	expect.True(t, "no <script in page", !strings.Contains(string(page), "<script"), string(page))
}
