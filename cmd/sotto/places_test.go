package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/engines/enginetest"
	"github.com/sotto-dp/sotto/internal/config"
)

// TestOneLedger: what all programs do that read tables, for this one.
func TestOneLedger(t *testing.T) {
	path := filepath.Join(clitest.Built(t), "sotto")
	enginetest.OneLedger(t, path, enginetest.Sotto(path))
}

// otherWays are places in the code that open or find a ledger in another way than by sotto.Open(""),
// which finds the user's own. Each has a reason, and an entry that no program needs is an error.
var otherWays = map[string]string{
	"sotto.call.openLedger ledger.Open": "the client's",
	"sotto.call.findLedger ledger.Open": "the client's",

	"sotto/internal/config SOTTO_LEDGER":                         "Places",
	"sotto/internal/config SOTTO_KEYS":                           "Places",
	"sotto/internal/config SOTTO_PRIVATE":                        "Places",
	"sotto/internal/config SOTTO_CONFIG":                         "Places",
	"sotto/internal/config.Places.find userdir.Data":             "Places",
	"sotto/internal/config.Usual userdir.Data":                   "Places",
	"sotto/cmd/internal/cli/budget.makeDataDir userdir.Data":     "to make the folder of the ledger that Places found",
	"sotto/cmd/internal/cli.standing ledger.Open":                "the client's, after a release",
	"sotto/cmd/internal/cli/budget.withLedger ledger.Open":       "found by Places",
	"sotto/cmd/internal/cli/serve.fingerprints ledger.Open":      "found by Places",
	"sotto/cmd/internal/cli/budget.completeDatasets ledger.Open": "found by Places",
	"sotto/cmd/internal/cli/budget.Rows ledger.Open":             "found by Places",
	"sotto/cmd/internal/serve/web.LedgerAt.Get ledger.Open":      "found by Places, for pages",

	"sotto/cmd/internal/cli/start.demoRun.grant ledger.Open":    "the demo's own, which its client uses",
	"sotto/cmd/internal/cli/start.demoRun.openModel sotto.Open": "messages of a demo are made up",
	"sotto/cmd/internal/cli/check.setting.drawReal sotto.Open":  "eval shows records as they are, seeded: nothing is charged",
	"sotto/lab/suite.runner.client sotto.Open":                  "suites are seeded: nothing is charged",
	"sotto/lab/attack.NewMaker sotto.Open":                      "attacks are seeded: nothing is charged",
}

// source is a package of this repository, whatever its module.
type source struct {
	name    string
	files   []*ast.File
	imports map[string]bool
}

const repository = "github.com/sotto-dp/sotto"

// sources reads all packages, without their tests.
func sources(t *testing.T, fset *token.FileSet) map[string]*source {
	t.Helper()
	const root = "../.."
	all := map[string]*source{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && file != root && d.Name() != "..":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			if strings.Contains(filepath.ToSlash(file), "/testdata/") {
				return nil // it is there to be wrong
			}
			return err
		}
		// Modules are called by where they are.
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		at := path.Join(repository, filepath.ToSlash(rel))
		if all[at] == nil {
			all[at] = &source{name: f.Name.Name, imports: map[string]bool{}}
		}
		all[at].files = append(all[at].files, f)
		for _, i := range f.Imports {
			if p, err := strconv.Unquote(i.Path.Value); err == nil {
				all[at].imports[p] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// reach adds a package and all that it is built from.
func reach(all map[string]*source, at string, into map[string]bool) {
	if all[at] == nil || into[at] {
		return
	}
	into[at] = true
	for i := range all[at].imports {
		reach(all, i, into)
	}
}

// callSite is a place in the code from which a ledger is opened, or found.
type callSite struct {
	key string // package, function, and what it calls
	at  token.Position
	own bool // it is the way to the user's own
}

// openings of a file.
func openings(fset *token.FileSet, at string, f *ast.File) (found []callSite) {
	names := map[string]string{} // that the file has for packages
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = p
	}
	of := func(e ast.Expr) string {
		if s, ok := e.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && names[x.Name] != "" {
				return names[x.Name] + "." + s.Sel.Name
			}
		}
		return ""
	}
	short := path.Join(path.Base(repository), strings.TrimPrefix(at, repository))
	for _, d := range f.Decls {
		in := short
		if f, ok := d.(*ast.FuncDecl); ok {
			if f.Recv != nil {
				in += "." + receiver(f.Recv.List[0].Type)
			}
			in += "." + f.Name.Name
		}
		add := func(n ast.Node, what string, own bool) {
			found = append(found, callSite{in + " " + what, fset.Position(n.Pos()), own})
		}
		called := map[ast.Expr]bool{}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if of(n.Fun) == repository+".Open" && len(n.Args) > 0 {
					dir, ok := n.Args[0].(*ast.BasicLit)
					called[n.Fun] = true
					add(n, "sotto.Open", ok && dir.Value == `""`)
				}
			case *ast.SelectorExpr:
				switch name := of(n); {
				case name == repository+".Open" && !called[n]:
					add(n, "sotto.Open", false)
				case name == repository+"/privacy/ledger.Open":
					add(n, "ledger.Open", false)
				case name == repository+"/internal/sys/userdir.Data":
					add(n, "userdir.Data", false)
				}
			case *ast.BasicLit:
				if v, err := strconv.Unquote(n.Value); err == nil && slices.Contains([]string{config.LedgerVariable, config.KeysVariable, config.PrivateVariable, config.FileVariable}, v) {
					add(n, v, false)
				}
			}
			return true
		})
	}
	return found
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// TestOneWayToALedger: every program of the repository, in whichever module, that opens a ledger goes
// by sotto.Open(""), which finds the user's own, or is listed with a reason.
func TestOneWayToALedger(t *testing.T) {
	fset := token.NewFileSet()
	all := sources(t, fset)
	unused, opens := maps.Clone(otherWays), map[string]bool{} // programs that open the user's own ledger
	bypasses := map[string][]string{}
	for at, s := range all {
		if s.name != "main" {
			continue
		}
		program, parts := strings.TrimPrefix(at, repository+"/"), map[string]bool{}
		reach(all, at, parts)
		for part := range parts {
			for _, f := range all[part].files {
				for _, o := range openings(fset, part, f) {
					delete(unused, o.key)
					switch {
					case o.own:
						opens[program] = true
					case otherWays[o.key] == "":
						where := fmt.Sprintf("%s at %s", o.key, o.at)
						bypasses[where] = append(bypasses[where], program)
					}
				}
			}
		}
	}
	for where, programs := range bypasses {
		slices.Sort(programs)
		t.Errorf("%s, in %s: the user's configuration may name another ledger. Use sotto.Open(\"\", …) or config.Places, or list it with a reason", where, strings.Join(slices.Compact(programs), ", "))
	}
	for key := range unused {
		t.Errorf("%s is in the list, and not in a program", key)
	}
	for _, program := range []string{"cmd/sotto", "engines/beam/cmd/sotto-beam"} {
		if !opens[program] {
			t.Errorf("%s opens no ledger of the user's: is this test looking?", program)
		}
	}
}
