package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// TestWatch: a panic in a goroutine that is watched is handed over with its place and
// without its value.
func TestWatch(t *testing.T) {
	var told string
	fault.Handle(func(where string) { told = where })
	var all sync.WaitGroup
	all.Go(func() {
		defer fault.Watch()
		var none []int
		_ = none[len(told)+4711]
	})
	all.Wait()
	if !strings.Contains(told, "fault_test.go:") || strings.Contains(told, "4711") {
		t.Error(told)
	}
}

// TestEveryGoroutineIsWatched: all goroutines that the library and the program start
// begin with defer fault.Watch(), so that none ends the program with Go's exit code and
// a message that holds content.
func TestEveryGoroutineIsWatched(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			// Modules of their own, and what is for tests and measurements.
			if path != root && (name == "bench" || name == "tools" || name == "engines" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, "test") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			unwatched(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unwatched reports goroutines of a file: go statements, and functions that are handed
// to a method Go.
func unwatched(t *testing.T, path string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]*ast.BlockStmt{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			methods[f.Name.Name] = f.Body
		}
	}
	check := func(at ast.Node, f ast.Expr) {
		var body *ast.BlockStmt
		switch f := f.(type) {
		case *ast.FuncLit:
			body = f.Body
		case *ast.SelectorExpr:
			body = methods[f.Sel.Name]
		case *ast.Ident:
			body = methods[f.Name]
		}
		if !watches(body) {
			t.Errorf("%s: the goroutine does not begin with defer fault.Watch()", files.Position(at.Pos()))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			check(n, n.Call.Fun)
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" && len(n.Args) == 1 {
				check(n, n.Args[0])
			}
		}
		return true
	})
}

// watches reports whether a function's first statements, all deferred, have Watch.
func watches(body *ast.BlockStmt) bool {
	if body == nil {
		return false
	}
	for _, s := range body.List {
		d, ok := s.(*ast.DeferStmt)
		if !ok {
			return false
		}
		switch f := d.Call.Fun.(type) {
		case *ast.SelectorExpr:
			if f.Sel.Name == "Watch" {
				return true
			}
		case *ast.Ident: // in this package
			if f.Name == "Watch" {
				return true
			}
		}
	}
	return false
}
