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

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/spell"
)

// Collection finds documents of a kind: some are built in, others are files of the user.
type Collection[T any] struct {
	// Kind of document, such as task.
	Kind string
	// Files hold the built-in ones in Folder, each as NAME.toml.
	Files  fs.FS
	Folder string
	// Order of the built-in ones, if it is not the alphabet's.
	Order []string
	// Examine reads a document, which has a name unless it says its own, and lists
	// what is wrong with it.
	Examine func(name string, data []byte) (T, []Problem)
}

// InvalidError lists all that is wrong with a document.
type InvalidError struct {
	// Kind of document, such as task.
	Kind string
	// Name of the document or path of its file.
	Name string
	// Problems are those found, warnings among them.
	Problems []Problem
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.Kind, e.Name, Join(e.Problems))
}

// UnknownError reports that there is no such document.
type UnknownError struct {
	// Kind of document, such as task.
	Kind string
	Name string
	// Near are built-in documents with similar names, Known are all.
	Near, Known []string
}

func (e *UnknownError) Error() string {
	hint := ""
	if len(e.Near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", strings.Join(e.Near, " or "))
	}
	return fmt.Sprintf("there is no %s %q%s; built in are %s; a %s of your own is a file that ends in .toml",
		e.Kind, e.Name, hint, strings.Join(e.Known, ", "), e.Kind)
}

// Names lists the built-in documents.
func (c Collection[T]) Names() []string {
	if c.Order != nil {
		return slices.Clone(c.Order)
	}
	// The folder is part of the program: reading it does not fail.
	files, _ := fs.Glob(c.Files, c.Folder+"/*.toml")
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(path.Base(f), ".toml")
	}
	slices.Sort(names)
	return names
}

// Builtin returns a built-in document.
func (c Collection[T]) Builtin(name string) (doc T, err error) {
	data, err := c.builtin(name)
	if err != nil {
		return doc, err
	}
	return c.Parse(name, data)
}

func (c Collection[T]) builtin(name string) ([]byte, error) {
	if known := c.Names(); !slices.Contains(known, name) {
		return nil, &UnknownError{Kind: c.Kind, Name: name, Near: spell.Near(name, known), Known: known}
	}
	return fs.ReadFile(c.Files, c.Folder+"/"+name+".toml")
}

// Find returns the document that a user names: a built-in one, or the path of a file.
func (c Collection[T]) Find(ref string) (doc T, err error) {
	data, err := c.Source(ref)
	if err != nil {
		return doc, err
	}
	return c.parseFile(ref, data)
}

// Load reads a document's file. It has the file's name unless it says its own.
func (c Collection[T]) Load(path string) (doc T, err error) {
	data, err := c.read(path)
	if err != nil {
		return doc, err
	}
	return c.parseFile(path, data)
}

// Source returns the text of a document's file: of a built-in one, or of a path, which
// ends in .toml, has a slash in it, or exists.
func (c Collection[T]) Source(ref string) ([]byte, error) {
	if !IsPath(ref) {
		data, err := c.builtin(ref)
		if err == nil {
			return data, nil
		}
		if _, missing := os.Stat(ref); missing != nil {
			return nil, err
		}
	}
	return c.read(ref)
}

// Parse reads a document. What is wrong with it is an *[InvalidError].
func (c Collection[T]) Parse(name string, data []byte) (doc T, err error) {
	found, problems := c.Examine(name, data)
	if !Valid(problems) {
		return doc, &InvalidError{Kind: c.Kind, Name: name, Problems: problems}
	}
	return found, nil
}

func (c Collection[T]) parseFile(ref string, data []byte) (T, error) {
	doc, err := c.Parse(NameOf(ref), data)
	if invalid, ok := errors.AsType[*InvalidError](err); ok {
		invalid.Name = ref
	}
	return doc, err
}

// read reads a file that may be a document. A FIFO would be waited for without end, and a
// file of data is no document.
func (c Collection[T]) read(file string) ([]byte, error) {
	data, err := bounded.ReadFile(file, bounded.Small)
	if _, ok := errors.AsType[*bounded.Error](err); ok {
		return nil, fmt.Errorf("%s file: %w, so it is no %s file; data is named elsewhere", c.Kind, err, c.Kind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s file: %w", c.Kind, err)
	}
	return data, nil
}

// IsPath reports whether a reference can only be the path of a file.
func IsPath(ref string) bool {
	return strings.HasSuffix(ref, ".toml") || strings.ContainsRune(ref, '/') || strings.ContainsRune(ref, filepath.Separator)
}

// NameOf returns the name of a document whose file does not say it.
func NameOf(ref string) string { return strings.TrimSuffix(filepath.Base(ref), ".toml") }
