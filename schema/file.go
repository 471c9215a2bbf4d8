package schema

import (
	"embed"
	"fmt"
	"math"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

//go:embed schemas/*.toml
var builtin embed.FS

var schemas = document.Collection[Schema]{Kind: "schema", Files: builtin, Folder: "schemas", Examine: Examine}

// Problem is one thing that is wrong with a schema.
type Problem = document.Problem

// InvalidError lists all that is wrong with a schema.
type InvalidError = document.InvalidError

// UnknownError reports that there is no such schema.
type UnknownError = document.UnknownError

// Builtins lists the names of the ready-made schemas.
func Builtins() []string { return schemas.Names() }

// Find returns the schema that a user names: a ready-made one, or the path of a file.
func Find(ref string) (Schema, error) { return schemas.Find(ref) }

// Source returns the text of a schema's file: of a ready-made one, to start one's own from,
// or of a path, which ends in .toml, has a slash in it or exists.
func Source(ref string) ([]byte, error) { return schemas.Source(ref) }

// NameOf returns the name of a schema whose file does not say it.
func NameOf(ref string) string { return document.NameOf(ref) }

// Parse reads a schema from TOML. It has the given name unless it says its own. What is
// wrong with it is an *[InvalidError] that lists everything at once.
func Parse(name string, data []byte) (Schema, error) { return schemas.Parse(name, data) }

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
	Format  string                       `toml:"format"`
	Low     any                          `toml:"low"`
	High    any                          `toml:"high"`
	Clamp   bool                         `toml:"clamp"`
	Digits  int                          `toml:"digits"`
	Edges   []any                        `toml:"edges"`
	Values  []string                     `toml:"values"`
	Aliases map[string]string            `toml:"aliases"`
	Other   string                       `toml:"other"`
	Missing any                          `toml:"missing"`
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
		Name: f.Name, Kind: f.Kind, Format: f.Format, Clamp: f.Clamp, Digits: f.Digits,
		Values: f.Values, Aliases: f.Aliases, Other: f.Other, Missing: written(f.Missing),
		Phrases: f.Phrases, Forms: f.Forms,
	}
	for _, e := range f.Edges {
		c.Edges = append(c.Edges, c.bound(e))
	}
	if f.Low == nil && f.High == nil {
		return c
	}
	// One bound without the other is a mistake, not a 0: the check finds NaN.
	c.Low, c.High = c.bound(f.Low), c.bound(f.High)
	return c
}

// bound is a number in a file: as it is, or of a column of dates a date, in quotes or without.
// What is neither is NaN, which the check finds.
func (c Column) bound(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case nil:
		return math.NaN()
	}
	if x, ok := c.parse(fmt.Sprint(v)); ok && c.isDate() {
		return x
	}
	return math.NaN()
}

// written is a value of a file as text: a number or a date may be without quotes.
func written(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return exact(v)
	case bool: // no value of a column: the check says what there is instead
		return fmt.Sprintf("%t without quotes", v)
	}
	return fmt.Sprint(v)
}

// where names a column in messages.
func where(i int, key string) string { return fmt.Sprintf("column[%d].%s", i+1, key) }
