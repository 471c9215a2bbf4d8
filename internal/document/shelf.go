package document

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/spell"
)

// Shelf is where documents of a kind are: some are built in, others are files of the user.
type Shelf struct {
	// Kind of document, such as a task.
	Kind string
	// Files hold the built-in ones in Folder, each as NAME.toml.
	Files  fs.FS
	Folder string
	// Order of the built-in ones, if it is not the alphabet's.
	Order []string
}

// Names lists the built-in documents.
func (s Shelf) Names() []string {
	if s.Order != nil {
		return slices.Clone(s.Order)
	}
	// The folder is part of the program: reading it does not fail.
	files, _ := fs.Glob(s.Files, s.Folder+"/*.toml")
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(path.Base(f), ".toml")
	}
	slices.Sort(names)
	return names
}

// Builtin is the text of a built-in document. It is false if there is none of that name;
// near are those with a similar one then.
func (s Shelf) Builtin(name string) (data []byte, near []string, ok bool) {
	if !slices.Contains(s.Names(), name) {
		return nil, spell.Near(name, s.Names()), false
	}
	data, err := fs.ReadFile(s.Files, s.Folder+"/"+name+".toml")
	return data, nil, err == nil
}

// Source is the text of a document's file: of a built-in one, or of a path, which ends in
// .toml, has a slash in it, or exists. It is false if there is none of that name; near are
// those with a similar one then.
func (s Shelf) Source(ref string) (data []byte, near []string, ok bool, err error) {
	if !IsPath(ref) {
		if data, near, ok = s.Builtin(ref); ok {
			return data, nil, true, nil
		}
		if _, err := os.Stat(ref); err != nil {
			return nil, near, false, nil
		}
	}
	data, err = s.Read(ref)
	return data, nil, true, err
}

// Unknown is the message about a document that does not exist.
func (s Shelf) Unknown(name string, near []string) string {
	hint := ""
	if len(near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return fmt.Sprintf("there is no %s %q%s; built in are %s; a %s of your own is a file that ends in .toml",
		s.Kind, name, hint, strings.Join(s.Names(), ", "), s.Kind)
}

// Read reads a file that may be a document. A FIFO would be waited for without end, and a
// file of data is no document.
func (s Shelf) Read(file string) ([]byte, error) {
	data, err := bounded.ReadFile(file, bounded.Small)
	if refused := (*bounded.Error)(nil); errors.As(err, &refused) {
		return nil, fmt.Errorf("%s file: %w, so it is no %s file; data is named elsewhere", s.Kind, err, s.Kind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s file: %w", s.Kind, err)
	}
	return data, nil
}

// IsPath reports whether a reference can only be the path of a file.
func IsPath(ref string) bool {
	return strings.HasSuffix(ref, ".toml") || strings.ContainsRune(ref, '/') || strings.ContainsRune(ref, filepath.Separator)
}

// NameOf is what a document is called if its file does not say.
func NameOf(ref string) string { return strings.TrimSuffix(filepath.Base(ref), ".toml") }
