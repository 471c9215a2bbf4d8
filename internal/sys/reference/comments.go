package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
)

const module = "github.com/sotto-dp/sotto"

// comments are those of the fields of a package's types, by "Type.Field" and "Type".
type comments map[string]string

// home is the module's folder, found before a test changes to another.
var home, nowhere = moduleDir()

var (
	known   = map[string]comments{}
	knowing sync.Mutex
)

// comment returns the comment of a type, or of a field of it, as one line.
func comment(t reflect.Type, field string) string {
	knowing.Lock()
	defer knowing.Unlock()
	path := t.PkgPath()
	if path == "main" {
		path = module + "/cmd/sotto"
	}
	if _, ours := strings.CutPrefix(path, module); !ours {
		return ""
	}
	c, ok := known[path]
	if !ok {
		c = read(path)
		known[path] = c
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	if field != "" {
		name += "." + field
	}
	return c[name]
}

// Comment returns the comment of a type as one line.
func Comment(t reflect.Type) string { return comment(t, "") }

// read parses the files of a package.
func read(path string) comments {
	if nowhere != nil {
		panic(nowhere)
	}
	files, err := filepath.Glob(filepath.Join(home, filepath.FromSlash(strings.TrimPrefix(path, module)), "*.go"))
	if err != nil {
		panic(err)
	}
	c := comments{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				c.add(s.(*ast.TypeSpec), g)
			}
		}
	}
	return c
}

// add takes the comments of a type. A comment that names the fields after it is theirs too.
func (c comments) add(s *ast.TypeSpec, g *ast.GenDecl) {
	name := s.Name.Name
	c[name] = line(s.Doc.Text())
	if c[name] == "" {
		c[name] = line(g.Doc.Text())
	}
	body, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	last := ""
	for _, f := range body.Fields.List {
		own := line(f.Doc.Text() + " " + f.Comment.Text())
		for _, n := range f.Names {
			switch {
			case own != "":
				last = own
				c[name+"."+n.Name] = own
			case regexp.MustCompile(`\b` + n.Name + `\b`).MatchString(last):
				c[name+"."+n.Name] = last
			}
		}
	}
}

var link = regexp.MustCompile(`\[\*?([A-Za-z.]+)\]`)

// line is a comment as one line, without the brackets of links.
func line(s string) string {
	return link.ReplaceAllString(strings.Join(strings.Fields(s), " "), "$1")
}

// moduleDir is the folder with the module's go.mod.
func moduleDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), "module "+module+"\n") {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no folder above has the go.mod of %s", module)
		}
		dir = up
	}
}
