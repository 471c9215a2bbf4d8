package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is a Go module and its packages that have tests.
type module struct {
	dir, name string
	workspace bool // whether only go.work says where the root is
	c         bool // whether it is tested with C libraries
	packages  []pkg
}

type pkg struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string

	goroutines bool // its code starts some, or its tests run a conformance suite that does
	concurrent bool // it has tests with Concurrent in their names
	plain      bool // it has tests called TestPlain…
}

// batch is a call of go test.
type batch struct {
	title           string
	flags, packages []string
	race            bool
	processor       string // another one than this machine's
}

// long are packages that start goroutines and take long: of their tests only those with
// Concurrent in their names run under the race detector. There have to be some.
var long = []string{
	"cmd/sotto", "eval/report", "eval/suite", "internal/audit", "internal/private/table", "cmd/internal/serve/web", "lm/bert", "lm/llama", "lm/remote",
	"privacy/accountant",
}

// slowest go first, so that none of them is left to run alone at the end.
var slowest = []string{"cmd/sotto", "internal/plan", "internal/private/internal/jury", "privacy/accountant", "internal/run", "lm/llama", "eval/suite", "privacy/ledger/ledgertest"}

// once are modules that are not worth building again for the race detector: Beam and its
// runner are 800 packages, and DuckDB is a C library, which the detector does not see.
var once = []string{"engines/beam", "engines/duckdb"}

// beside are modules that the program has nothing of: "make test-all" tests them.
var beside = []string{"bench", "engines/beam", "engines/duckdb", "lm/internal/kernel/gen"}

// later are packages that build and unpack what is published, for all systems: "make test-all" tests them, too.
var later = []string{"tools/release"}

// linked are modules that need a C library: without a C compiler their tests are left out.
var linked = []string{"engines/duckdb"}

// suites are what tests call that start goroutines.
var suites = []string{"lmtest.Run"}

func open(dir string) (*module, error) {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := &module{dir: dir, workspace: bytes.Contains(mod, []byte("sotto-dp/sotto v0.0.0"))}
	line, _, _ := strings.Cut(string(mod), "\n")
	m.name = strings.TrimPrefix(line, "module ")
	m.c = m.among(linked) && compiler()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir, cmd.Env, cmd.Stderr = dir, m.environ(false), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", dir, err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			if p.look(); p.slow() && p.goroutines && !p.concurrent {
				return nil, fmt.Errorf("no test of %s runs under the race detector: put Concurrent into the name of one", p.ImportPath)
			}
			m.packages = append(m.packages, p)
		}
	}
	slices.SortStableFunc(m.packages, func(a, b pkg) int { return m.rank(a) - m.rank(b) })
	return m, nil
}

// environ is the go command's environment. A module is built by its own go.mod alone, as
// its users do, unless it needs the workspace to find the root.
func (m *module) environ(race bool) []string {
	env := append(os.Environ(), "GOWORK=off")
	if m.workspace {
		env = append(env, "GOWORK=auto")
	}
	if race || m.c {
		env = append(env, "CGO_ENABLED=1")
	}
	return env
}

// among reports whether the module is one of a list.
func (m *module) among(list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.HasSuffix(m.name, "/"+s) })
}

func (m *module) rank(p pkg) int {
	if i := slices.IndexFunc(slowest, func(s string) bool { return strings.HasSuffix(p.ImportPath, "/"+s) }); i >= 0 {
		return i
	}
	return len(slowest)
}

// batches says what runs how.
func (m *module) batches(short, race bool) []batch {
	if m.among(once) {
		race = false
	}
	whole := func(p pkg) bool { return race && p.goroutines && !p.slow() }
	var apart []string
	if race { // these come under the race detector
		apart = []string{"-skip=Concurrent"}
	}
	all := []batch{
		{"tests", apart, m.those(func(p pkg) bool { return !whole(p) }), false, ""},
		{"long tests", []string{"-run=^TestPlain"}, m.those(func(p pkg) bool { return whole(p) && p.plain }), false, ""},
		{"race detector", []string{"-race", "-skip=^TestPlain"}, m.those(whole), true, ""},
		{"race detector, concurrent tests", []string{"-race", "-run=Concurrent"}, m.those(func(p pkg) bool { return race && !whole(p) && p.concurrent }), true, ""},
	}
	if short {
		all = []batch{{"short tests", []string{"-short", "-skip=^TestPlain"}, m.those(func(pkg) bool { return true }), false, ""}}
	}
	return slices.DeleteFunc(all, func(b batch) bool { return len(b.packages) == 0 })
}

// slow reports whether the package is one of the long ones.
func (p *pkg) slow() bool {
	return slices.ContainsFunc(long, func(s string) bool { return strings.HasSuffix(p.ImportPath, "/"+s) })
}

// part keeps the packages of the rest, or the others.
func (m *module) part(rest bool) {
	m.packages = slices.DeleteFunc(m.packages, func(p pkg) bool { return (m.among(beside) || p.later()) != rest })
}

func (p *pkg) later() bool {
	return slices.ContainsFunc(later, func(s string) bool { return strings.HasSuffix(p.ImportPath, "/"+s) })
}

func (m *module) those(which func(pkg) bool) []string {
	var out []string
	for _, p := range m.packages {
		if which(p) {
			out = append(out, p.ImportPath)
		}
	}
	return out
}

// look reads the files of a package. What does not parse is left to the compiler.
func (p *pkg) look() {
	tests := slices.Concat(p.TestGoFiles, p.XTestGoFiles)
	for _, name := range slices.Concat(p.GoFiles, tests) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		test := slices.Contains(tests, name)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				p.concurrent = p.concurrent || test && n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") && strings.Contains(n.Name.Name, "Concurrent")
				p.plain = p.plain || test && n.Recv == nil && strings.HasPrefix(n.Name.Name, "TestPlain")
			case *ast.GoStmt:
				p.goroutines = p.goroutines || !test
			case *ast.SelectorExpr:
				// Go is the method of sync.WaitGroup and errgroup.Group.
				p.goroutines = p.goroutines || !test && n.Sel.Name == "Go"
				if of, ok := n.X.(*ast.Ident); ok && test {
					p.goroutines = p.goroutines || slices.Contains(suites, of.Name+"."+n.Sel.Name)
				}
			}
			return true
		})
	}
}
