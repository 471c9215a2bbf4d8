package suite

import (
	"embed"
	"errors"
	"path/filepath"
	"reflect"

	"github.com/sotto-dp/sotto/internal/document"
)

//go:embed suites
var builtin embed.FS

var shelf = document.Shelf{Kind: "suite", Files: builtin, Folder: "suites"}

// Builtins lists the names of the built-in suites.
func Builtins() []string { return shelf.Names() }

// Builtin returns a built-in suite.
func Builtin(name string) (Suite, error) {
	data, near, ok := shelf.Builtin(name)
	if !ok {
		return Suite{}, &UnknownError{Name: name, Near: near}
	}
	return Parse(name, data)
}

// Find returns the suite that a user names: a built-in one, or the path of a file.
func Find(ref string) (Suite, error) {
	if isPath(ref) {
		return Load(ref)
	}
	return Builtin(ref)
}

// Source is the text of a suite's file: of a built-in one, to start one's own from, or of
// a path, which ends in .toml or has a slash in it.
func Source(ref string) ([]byte, error) {
	if isPath(ref) {
		return shelf.Read(ref)
	}
	data, near, ok := shelf.Builtin(ref)
	if !ok {
		return nil, &UnknownError{Name: ref, Near: near}
	}
	return data, nil
}

func isPath(ref string) bool { return document.IsPath(ref) }

// Load reads a suite file. Paths in it are relative to its folder. The suite is called as
// the file is, unless that says name.
func Load(file string) (Suite, error) {
	data, err := shelf.Read(file)
	if err != nil {
		return Suite{}, err
	}
	s, err := Parse(document.NameOf(file), data)
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		invalid.Name = file
	}
	s.dir = filepath.Dir(file)
	return s, err
}

// Parse reads a suite from TOML. name is what it is called unless it says so itself. What
// is wrong with it is an *[InvalidError] that lists everything at once.
func Parse(name string, data []byte) (Suite, error) {
	file := reflect.New(fileType)
	decoded, ok := document.Decode(data, file.Interface())
	s := suiteOf(file.Elem())
	found := (*problems)(decoded)
	if ok {
		s = s.WithDefaults()
		if s.Name == "" {
			s.Name = name
		}
		s.check(found)
		s.checkReference(found)
	}
	if len(found.List) > 0 {
		return Suite{}, &InvalidError{Name: name, Problems: found.List}
	}
	return s, nil
}
