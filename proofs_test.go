package sotto_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// `privacy/ledger.TestName`, and `.TestName` for one of the root.
	namedTest = regexp.MustCompile("`([a-z][a-z0-9/-]*)?\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	namedFile = regexp.MustCompile("`([a-z][a-z0-9_/-]*/[a-z0-9_]+\\.go)`")
	statement = regexp.MustCompile(`(?m)^### P(\d+)\. .+$`)
)

// TestProofsPage: every statement of docs/proofs.md has a statement, a proof, files that rely
// on it and tests that attack it, and those files and tests are there. A proof whose test is
// gone is nobody's concern any more, and one whose file is gone proves nothing.
func TestProofsPage(t *testing.T) {
	raw, err := os.ReadFile("docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	at := statement.FindAllStringSubmatchIndex(page, -1)
	if len(at) < 30 {
		t.Fatalf("the page has %d statements", len(at))
	}
	for i, m := range at {
		if n := page[m[2]:m[3]]; n != fmt.Sprint(i+1) {
			t.Errorf("P%s is the statement number %d", n, i+1)
		}
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		text := page[m[0]:end]
		if next := strings.Index(text, "\n## "); next >= 0 {
			text = text[:next]
		}
		title := strings.SplitN(text, "\n", 2)[0]
		for _, part := range []string{"**Statement.**", "**Proof.**", "**Relied on by**", "**Attacked by**", "∎"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %s", title, part)
			}
		}
		_, attacked, _ := strings.Cut(text, "**Attacked by**")
		if !namedTest.MatchString(attacked) {
			t.Errorf("%s names no test that attacks it", title)
		}
		if !namedFile.MatchString(text) {
			t.Errorf("%s names no file that relies on it", title)
		}
	}
	for _, f := range namedFile.FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.FromSlash(f[1])); err != nil {
			t.Errorf("the page names a file that is not there: %v", err)
		}
	}
	for n := range statementsNamed(page) {
		if n < 1 || n > len(at) {
			t.Errorf("the page speaks of P%d, and has %d statements", n, len(at))
		}
	}
}

// TestEvidenceIsThere: the tests that pages name as evidence exist, and every row of attacks names one.
func TestEvidenceIsThere(t *testing.T) {
	have := map[string]map[string]bool{}
	for _, name := range []string{"docs/proofs.md", "docs/security.md", "docs/audit.md", "docs/scale.md"} {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range namedTest.FindAllStringSubmatch(string(page), -1) {
			dir, test := f[1], f[2]
			if have[dir] == nil {
				have[dir] = testsOf(t, filepath.FromSlash("./"+dir))
			}
			if !have[dir][test] {
				t.Errorf("%s: %s has no test called %s", name, dir, test)
			}
		}
		attacks := false
		for i, line := range strings.Split(string(page), "\n") {
			switch {
			case strings.HasPrefix(line, "| Attempt or mistake |"):
				attacks = true
			case !strings.HasPrefix(line, "|"):
				attacks = false
			case attacks && !strings.HasPrefix(line, "|---") && !namedTest.MatchString(line):
				t.Errorf("%s:%d names no test", name, i+1)
			}
		}
	}
}

// statementsNamed are the numbers of statements that a text refers to.
func statementsNamed(page string) map[int]bool {
	out := map[int]bool{}
	for _, m := range regexp.MustCompile(`\bP(\d+)\b`).FindAllStringSubmatch(page, -1) {
		var n int
		if _, err := fmt.Sscan(m[1], &n); err == nil {
			out[n] = true
		}
	}
	return out
}

// testsOf lists the functions in the tests of one directory.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	files, err := fs.Glob(os.DirFS(dir), "*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				all[f.Name.Name] = true
			}
		}
	}
	return all
}
