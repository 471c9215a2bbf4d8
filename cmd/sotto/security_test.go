package main

import (
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

// named finds tests as docs/security.md names them: `privacy/ledger.TestName`; those
// of the root have no package before the point.
var named = regexp.MustCompile("`([a-z][a-z0-9/-]*)?\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// TestSecurityPage: every test that the page names is there, and every closed line of its
// tables names one. A line whose test was renamed or removed claims what nobody checks.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	found := named.FindAllStringSubmatch(string(page), -1)
	if len(found) < 20 {
		t.Errorf("the page names %d tests, and should name one for each line that says closed", len(found))
	}
	have := map[string]map[string]bool{}
	for _, f := range found {
		dir, test := f[1], f[2]
		if have[dir] == nil {
			have[dir] = functions(t, filepath.Join("../..", filepath.FromSlash(dir)))
		}
		if !have[dir][test] {
			t.Errorf("%s has no test called %s", dir, test)
		}
	}
	for n, line := range strings.Split(string(page), "\n") {
		if strings.HasPrefix(line, "|") && strings.Contains(line, "| closed") && !named.MatchString(line) {
			t.Errorf("line %d says closed and names no test", n+1)
		}
	}
}

// functions lists the functions in the tests of one directory.
func functions(t *testing.T, dir string) map[string]bool {
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
