package schema

import (
	"embed"
	"errors"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/document"
)

//go:embed schemas/*.toml
var builtin embed.FS

var shelf = document.Shelf{Kind: "schema", Files: builtin, Folder: "schemas"}

// Problem is one thing that is wrong with a schema.
type Problem = document.Problem

// InvalidError lists everything that is wrong with a schema.
type InvalidError struct {
	// Name of the schema or path of its file.
	Name string
	// Problems are those found, warnings among them.
	Problems []Problem
}

func (e *InvalidError) Error() string { return document.Invalid("schema", e.Name, e.Problems) }

// UnknownError reports that there is no such schema.
type UnknownError struct {
	Name string
	// Near are built-in schemas with similar names.
	Near []string
}

func (e *UnknownError) Error() string { return shelf.Unknown(e.Name, e.Near) }

// Builtins lists the names of the ready-made schemas.
func Builtins() []string { return shelf.Names() }

// Find returns the schema that a user names: a ready-made one, or the path of a file.
func Find(ref string) (Schema, error) {
	data, err := Source(ref)
	if err != nil {
		return Schema{}, err
	}
	return parseFile(ref, data)
}

// Load reads a schema file. The file's name is the default of the schema's name.
func Load(path string) (Schema, error) {
	data, err := shelf.Read(path)
	if err != nil {
		return Schema{}, err
	}
	return parseFile(path, data)
}

// Source returns the text of a schema's file: of a ready-made one, to start one's own from,
// or of a path, which ends in .toml, has a slash in it or exists.
func Source(ref string) ([]byte, error) {
	data, near, ok, err := shelf.Source(ref)
	if !ok {
		return nil, &UnknownError{Name: ref, Near: near}
	}
	return data, err
}

// NameOf returns the default name of a schema, from its file's name.
func NameOf(ref string) string { return document.NameOf(ref) }

func parseFile(ref string, data []byte) (Schema, error) {
	s, err := Parse(NameOf(ref), data)
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		invalid.Name = ref
	}
	return s, err
}

// Parse reads a schema from TOML. name is its default name. An *[InvalidError] lists all
// problems at once.
func Parse(name string, data []byte) (Schema, error) {
	s, found := Examine(name, data)
	if !document.Valid(found) {
		return Schema{}, &InvalidError{Name: name, Problems: found}
	}
	return s, nil
}

// Examine is like [Parse] but returns all problems of a file, including warnings.
func Examine(name string, data []byte) (Schema, []Problem) {
	var f file
	found, ok := document.Decode(data, &f)
	if !ok {
		return Schema{Name: name}, found.List
	}
	s := f.schema(name).WithDefaults()
	s.check(found)
	return s, found.List
}

// file is a schema file.
type file struct {
	Name     string             `toml:"name"`
	Title    string             `toml:"title"`
	Label    string             `toml:"label"`
	Template string             `toml:"template"`
	Question string             `toml:"question"`
	Columns  []fileColumn       `toml:"column"`
	Groups   map[string][]Group `toml:"groups"`
}

// fileColumn distinguishes unset bounds from bounds of 0.
type fileColumn struct {
	Name    string                       `toml:"name"`
	Kind    Kind                         `toml:"kind"`
	Low     *float64                     `toml:"low"`
	High    *float64                     `toml:"high"`
	Clamp   bool                         `toml:"clamp"`
	Digits  int                          `toml:"digits"`
	Edges   []float64                    `toml:"edges"`
	Values  []string                     `toml:"values"`
	Aliases map[string]string            `toml:"aliases"`
	Other   string                       `toml:"other"`
	Missing string                       `toml:"missing"`
	Phrases map[string]string            `toml:"phrases"`
	Forms   map[string]map[string]string `toml:"forms"`
}

func (f file) schema(name string) Schema {
	s := Schema{Name: f.Name, Title: f.Title, Label: f.Label, Template: f.Template, Question: f.Question, Groups: f.Groups}
	if s.Name == "" {
		s.Name = name
	}
	for _, c := range f.Columns {
		s.Columns = append(s.Columns, c.column())
	}
	return s
}

func (f fileColumn) column() Column {
	c := Column{
		Name: f.Name, Kind: f.Kind, Clamp: f.Clamp, Digits: f.Digits, Edges: f.Edges,
		Values: f.Values, Aliases: f.Aliases, Other: f.Other, Missing: f.Missing,
		Phrases: f.Phrases, Forms: f.Forms,
	}
	if f.Low == nil && f.High == nil {
		return c
	}
	// One bound without the other is a mistake, not a 0: the check finds NaN.
	c.Low, c.High = math.NaN(), math.NaN()
	if f.Low != nil {
		c.Low = *f.Low
	}
	if f.High != nil {
		c.High = *f.High
	}
	return c
}

// where names a column in messages.
func where(i int, key string) string { return fmt.Sprintf("column[%d].%s", i+1, key) }
