package serve

import (
	"database/sql"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/document"
)

// hostileName is what an operator may call a model to be shown on an owner's terminal.
const hostileName = "big\x1b]0;owned\x07\x1b[2K\x1b[1A\rsafe\u009b31m\u202eelif"

// TestHostileRoutes: names that would control a terminal are refused where they are given, and
// those that are in a store, or that a server or a file has, are harmless where they are shown.
func TestHostileRoutes(t *testing.T) {
	clitest.Home(t)
	clitest.Write(t, "own.toml", []byte("service = \"service.db\"\n[upstream.far]\nurl = \"http://127.0.0.1:9\"\n"))
	t.Setenv("SOTTO_CONFIG", "own.toml")
	if code, _, errs := clitest.Run(t, "serve", "route", "set", "plain", "--upstream", "far", "--model", hostileName); code != 2 || !strings.Contains(errs, "control characters") {
		t.Errorf("a route to a hostile model: %d %q", code, errs)
	}
	for _, verb := range [][]string{
		{"serve", "route", "set", "plain", "--upstream", "far", "--model", "big"}, {"serve", "key", "add", "team", "--route", "plain"},
	} {
		if code, _, errs := clitest.Run(t, verb...); code != 0 {
			t.Fatal(errs)
		}
	}
	db, err := sql.Open("sqlite", "service.db")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{
		`UPDATE service_routes SET spec = json_set(spec, '$.model', $1), actor = $1`, `UPDATE service_keys SET name = $1`,
		`INSERT INTO service_accounts VALUES ($1, 'viewer', '', '', 0, 0)`,
	} {
		if _, err := db.Exec(change, hostileName); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, verb := range [][]string{
		{"serve", "route", "list"},
		{"serve", "key", "list"},
		{"serve", "account", "list"},
		{"serve", "route", "use", hostileName},
		{"verify", hostileName},
		{"task", "show", hostileName},
		{hostileName},
		{"account", "gaussian(" + hostileName + ")"},
	} {
		for _, as := range [][]string{nil, {"--json"}} {
			_, out, errs := clitest.Run(t, append(verb, as...)...)
			for _, text := range []string{out, errs} {
				for _, r := range text {
					if document.Controls(r) && r != '\n' && r != '\t' {
						t.Errorf("%.60q %v prints %U: %q", verb, as, r, text)
						break
					}
				}
			}
			if out+errs == "" {
				t.Errorf("%.60q %v prints nothing", verb, as)
			}
		}
	}
}

// TestOneWayOut: all that verbs print goes through a terminal, whose pages, JSON and standard error
// are guarded. Only data is written as it is.
func TestOneWayOut(t *testing.T) {
	direct := regexp.MustCompile(`\bos\.(Stdout|Stderr)\b|\bfmt\.Print|\bp\.W\b|\.Stdout\b`)
	may := map[string]string{
		"root/main.go":         "help, which is the program's own",
		"tables/perturb.go":    "rows of data",
		"texts/predict.go":     "labels of texts, as a file has them",
		"serve/mcp.go":         "a protocol of JSON",
		"texts/answer_view.go": "a stream, which guards itself",
		"clitest/serve.go":     "what a program under test prints",
	}
	var files []string
	for _, pattern := range []string{"../*.go", "../*/*.go", "../../../sotto/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	unused := maps.Clone(may)
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		found := direct.Find(data)
		if strings.HasSuffix(name, "_test.go") || found == nil {
			continue
		}
		if delete(unused, name); may[name] == "" {
			t.Errorf("%s prints by %s: use a Page, Emit, Warn or p.Stderr", name, found)
		}
	}
	for name := range unused {
		t.Errorf("%s is in the list, and prints nothing", name)
	}
}
