package sotto_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestConditions: a failed test says which check failed. A condition of three clauses and more does not; internal/sys/expect
// has a line for each. tools, which does not build with this module, has an if for each.
func TestConditions(t *testing.T) {
	set := token.NewFileSet()
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch at := filepath.ToSlash(path); {
		case err != nil:
			return err
		case d.IsDir():
			if hidden := strings.HasPrefix(d.Name(), ".") && at != "."; hidden || at == "dist" || at == "bin" {
				return fs.SkipDir
			}
			return nil
		case filepath.Ext(path) != ".go":
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if !slices.Contains(imported(f), "testing") {
			return nil
		}
		files++
		for _, pos := range wideConditions(f) {
			t.Errorf("%v: a condition of three clauses and more does not say which failed: check each by itself", set.Position(pos))
		}
		return nil
	})
	expect.NoError(t, err)
	expect.Min(t, "files of tests", files, 300)
}

// wideConditions are the conditions of three clauses and more by which a test fails.
func wideConditions(f *ast.File) []token.Pos {
	packages := imported(f)
	var found []token.Pos
	ast.Inspect(f, func(n ast.Node) bool {
		if i, ok := n.(*ast.IfStmt); ok && clauses(i.Cond) > 2 && failsTest(i.Body, packages) {
			found = append(found, i.Pos())
		}
		return true
	})
	return found
}

// clauses is the number of operands that an || has.
func clauses(e ast.Expr) int {
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == token.LOR {
		return clauses(b.X) + clauses(b.Y)
	}
	return 1
}

// failsTest reports whether a block has a statement that is a call of t.Error or one of its kind; err.Error() is none,
// and log.Fatal neither.
func failsTest(block *ast.BlockStmt, packages []string) bool {
	found := false
	ast.Inspect(block, func(n ast.Node) bool {
		statement, ok := n.(*ast.ExprStmt)
		if !ok {
			return true
		}
		call, ok := statement.X.(*ast.CallExpr)
		if !ok {
			return true
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"}, s.Sel.Name) {
			return true
		}
		of, ok := s.X.(*ast.Ident)
		found = found || !ok || !slices.Contains(packages, of.Name)
		return true
	})
	return found
}

// imported are the names of the packages that a file imports.
func imported(f *ast.File) []string {
	var names []string
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if i.Name != nil {
			path = i.Name.Name
		}
		names = append(names, path[strings.LastIndex(path, "/")+1:])
	}
	return names
}
