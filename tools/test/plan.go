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
	long       bool // it has tests called TestLong…
}

// batch is a call of go test.
type batch struct {
	title           string
	flags, packages []string
	race            bool
	processor       string // another one than this machine's
}

// tier says which tests run: make check, make test and make test-all have one each.
type tier int

const (
	short tier = iota // without the race detector and what asks testing.Short
	usual             // all that is in no other
	rest              // the packages of the rest, tests called TestLong… of others, and large programs under the race detector
)

// partly are packages that start goroutines and take long: of their tests only those with
// Concurrent in their names run under the race detector. There have to be some.
var partly = []string{
	"cmd/internal/cli/model", "cmd/internal/cli/serve", "cmd/internal/cli/start", "lab/report", "lab/suite", "internal/audit", "internal/private/table", "cmd/internal/serve/web", "lm/bert", "lm/llama", "lm/remote",
	"privacy/accountant",
}

// large are packages that need most of the program: to compile it again for the race detector takes
// minutes, so they run under it in the rest, and without it where others have it.
var large = []string{
	"cmd/internal/cli/budget", "cmd/internal/cli/model", "cmd/internal/cli/root", "cmd/internal/cli/serve", "cmd/internal/cli/start", "cmd/internal/cli/texts",
	"cmd/internal/figures", "cmd/internal/serve", "cmd/internal/serve/web",
}

// slowest go first, so that none of them is left to run alone at the end.
var slowest = []string{
	"cmd/internal/cli/texts", "cmd/internal/cli/serve", "cmd/sotto", "cmd/internal/cli/check", "cmd/internal/cli/tables", "cmd/internal/cli/root", "cmd/internal/cli/start",
	"internal/run", "cmd/internal/serve/web", "privacy/accountant", "lm/llama", "internal/private/internal/grader", "internal/plan", "lab/suite", "privacy/ledger/ledgertest",
}

// once are modules that are not worth building again for the race detector: Beam and its
// runner are 800 packages, and DuckDB is a C library, which the detector does not see.
var once = []string{"engines/beam", "engines/duckdb"}

// beside are modules that the program has nothing of, such as the laboratory: "make test-all" tests them.
var beside = []string{"lab", "engines/beam", "engines/duckdb", "lm/internal/kernel/gen"}

// later are packages that "make test-all" tests, too: what builds and unpacks what is published, for all
// systems.
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
			if p.look(); p.partly() && p.goroutines && !p.concurrent {
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

// batches says what runs how in a tier.
func (m *module) batches(in tier, race bool) []batch {
	if m.among(once) {
		race = false
	}
	if in == short {
		return m.some(batch{"short tests", []string{"-short", "-skip=^Test(Plain|Long)"}, m.those(m.usual), false, ""})
	}
	all := func(p pkg) bool { return (in == rest) == m.later(p) }
	whole := func(p pkg) bool { return race && p.goroutines && !p.partly() && (in == rest || !p.large()) }
	some := func(p pkg) bool { return race && !whole(p) && p.concurrent }
	// What comes under the race detector is left out of the others.
	skip, also := "^TestLong", []string(nil)
	if in == rest {
		skip = ""
	}
	if race {
		skip = strings.TrimPrefix(skip+"|Concurrent", "|")
	}
	if skip != "" {
		also = []string{"-skip=" + skip}
	}
	return m.some(
		batch{"tests", also, m.those(func(p pkg) bool { return all(p) && !whole(p) }), false, ""},
		batch{"tests that compute", []string{"-run=^TestPlain"}, m.those(func(p pkg) bool { return all(p) && whole(p) && p.plain }), false, ""},
		batch{"long tests", []string{"-run=^TestLong"}, m.those(func(p pkg) bool { return in == rest && (!all(p) || whole(p)) && p.long }), false, ""},
		batch{"race detector", []string{"-race", "-skip=^Test(Plain|Long)"}, m.those(func(p pkg) bool { return whole(p) && (all(p) || p.large()) }), true, ""},
		batch{"concurrent tests without the race detector", []string{"-run=Concurrent"}, m.those(func(p pkg) bool { return all(p) && some(p) && p.large() && in == usual }), false, ""},
		batch{"race detector, concurrent tests", []string{"-race", "-run=Concurrent"}, m.those(func(p pkg) bool {
			return some(p) && (all(p) && !p.large() || in == rest && p.large())
		}), true, ""},
	)
}

// some leaves out batches of no package.
func (m *module) some(all ...batch) []batch {
	return slices.DeleteFunc(all, func(b batch) bool { return len(b.packages) == 0 })
}

// later reports whether all tests of a package are left to the rest.
func (m *module) later(p pkg) bool { return m.among(beside) || p.is(later) }

func (m *module) usual(p pkg) bool { return !m.later(p) }

// partly reports whether only a part of the package's tests runs under the race detector.
func (p *pkg) partly() bool { return p.is(partly) }

func (p *pkg) large() bool { return p.is(large) }

// is reports whether the package is one of a list.
func (p *pkg) is(list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.HasSuffix(p.ImportPath, "/"+s) })
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
				p.long = p.long || test && n.Recv == nil && strings.HasPrefix(n.Name.Name, "TestLong")
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
