package sotto_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/constant"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rewriteAPI = flag.Bool("rewrite", false, "write docs/api anew")

// stable are the packages whose exported names doc.go promises to keep.
var stable = []string{"", "prompt", "schema", "lm", "lm/backend", "privacy", "privacy/accountant", "privacy/certificate", "privacy/ledger", "privacy/noise", "eval"}

const module = "github.com/sotto-dp/sotto"

// TestAPI: docs/api has what the stable packages export, so that a change to it shows in review. Run it with
// -args -rewrite after a change that is meant.
func TestAPI(t *testing.T) {
	imported := exported(t)
	const dir = "docs/api"
	for _, name := range stable {
		pkg, err := imported.Import(strings.TrimSuffix(module+"/"+name, "/"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(pkg.Path(), "github.com/sotto-dp/"), "/", ".")+".txt")
		got := api(pkg)
		if *rewriteAPI {
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || string(want) != got {
			t.Errorf("%s is not what the package exports (%v): run go test . -run TestAPI -args -rewrite, read what changed, and see doc.go for what may change\n%s", path, err, difference(string(want), got))
		}
	}
	if there, err := os.ReadDir(dir); err != nil || len(there) != len(stable) {
		t.Errorf("%s has %d files for %d packages: %v", dir, len(there), len(stable), err)
	}
}

// difference lists the lines that only one of two texts has.
func difference(want, got string) string {
	var out strings.Builder
	list := func(sign string, in, notIn string) {
		have := strings.Split(notIn, "\n")
		for _, line := range strings.Split(in, "\n") {
			if !slices.Contains(have, line) {
				fmt.Fprintln(&out, sign, line)
			}
		}
	}
	list("-", want, got)
	list("+", got, want)
	return out.String()
}

// exported imports packages from what the compiler made of them.
func exported(t *testing.T) types.Importer {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export"}
	for _, name := range stable {
		args = append(args, "./"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
}

// api lists what a package exports, a line each. Types that stand for ones of internal packages are
// listed with what these have.
func api(pkg *types.Package) string {
	var lines []string
	short := func(p *types.Package) string {
		if p == pkg {
			return ""
		}
		return strings.TrimPrefix(p.Path(), module+"/")
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			value := o.Val().ExactString()
			if o.Val().Kind() == constant.Float {
				value = o.Val().String()
			}
			add("const %s %s = %s", name, types.TypeString(o.Type(), short), value)
		case *types.TypeName:
			of := types.Unalias(o.Type())
			if o.IsAlias() {
				add("type %s = %s", name, types.TypeString(of, short))
			} else {
				add("type %s%s %s", name, parameters(of, short), kind(of.Underlying(), short))
			}
			named, is := of.(*types.Named)
			if is && (!o.IsAlias() || !slices.Contains(stable, short(named.Obj().Pkg()))) {
				for _, line := range members(named, short) {
					add("  %s.%s", name, line)
				}
			}
		default:
			add("%s", types.ObjectString(o, short))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// parameters are the type parameters of a type.
func parameters(t types.Type, short types.Qualifier) string {
	named, is := t.(*types.Named)
	if !is || named.TypeParams().Len() == 0 {
		return ""
	}
	var out []string
	for p := range named.TypeParams().TypeParams() {
		out = append(out, p.Obj().Name()+" "+types.TypeString(p.Constraint(), short))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// kind is a type without what it has.
func kind(t types.Type, short types.Qualifier) string {
	switch t.(type) {
	case *types.Struct:
		return "struct"
	case *types.Interface:
		return "interface"
	}
	return types.TypeString(t, short)
}

// members are the exported fields and methods of a type.
func members(t *types.Named, short types.Qualifier) (lines []string) {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if f := u.Field(i); f.Exported() {
				lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Name(), types.TypeString(f.Type(), short), u.Tag(i))))
			}
		}
	case *types.Interface:
		for m := range u.Methods() {
			lines = append(lines, m.Name()+strings.TrimPrefix(types.TypeString(m.Type(), short), "func"))
		}
	}
	for m := range t.Methods() {
		if m.Exported() {
			lines = append(lines, m.Name()+strings.TrimPrefix(types.TypeString(m.Type(), short), "func"))
		}
	}
	slices.Sort(lines)
	return lines
}
