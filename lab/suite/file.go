package suite

import (
	"embed"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

//go:embed suites
var builtin embed.FS

var suites = document.Collection[Suite]{Kind: "suite", Files: builtin, Folder: "suites", Examine: examine}

// Builtins lists the names of the built-in suites.
func Builtins() []string { return suites.Names() }

// Builtin returns a built-in suite.
func Builtin(name string) (Suite, error) { return suites.Builtin(name) }

// Find returns the suite that a user names: a built-in one, or the path of a file.
func Find(ref string) (Suite, error) {
	if !document.IsPath(ref) && slices.Contains(Builtins(), ref) {
		return Builtin(ref)
	}
	s, err := suites.Find(ref)
	s.dir = filepath.Dir(ref)
	return s, err
}

// Source returns the text of a suite's file: of a built-in one, to start one's own from, or
// of a path, which ends in .toml, has a slash in it or exists.
func Source(ref string) ([]byte, error) { return suites.Source(ref) }

// Load reads a suite file. Paths in it are relative to its folder. The suite has the file's
// name unless it says its own.
func Load(file string) (Suite, error) {
	s, err := suites.Load(file)
	s.dir = filepath.Dir(file)
	return s, err
}

// Parse reads a suite from TOML. It has the given name unless it says its own. What is
// wrong with it is an *[InvalidError] that lists everything at once.
func Parse(name string, data []byte) (Suite, error) { return suites.Parse(name, data) }

func examine(name string, data []byte) (Suite, []Problem) {
	file := reflect.New(fileType)
	found, ok := document.Decode(data, file.Interface())
	s := suiteOf(file.Elem())
	if ok {
		s = s.WithDefaults()
		if s.Name == "" {
			s.Name = name
		}
		s.check(found)
		s.checkReference(found)
	}
	return s, found.List
}
