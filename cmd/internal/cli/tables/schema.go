package tables

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	tables "github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/schema"
)

func newTableSchemaCommand(p *cli.Program) *cobra.Command {
	var source bool
	cmd := &cobra.Command{
		Use:   "schema [NAME|FILE]",
		Short: "Schemas: what a table is, and how its rows read",
		Long: `Lists the ready-made schemas, or shows one: its columns, what values they can
have, and a made-up row in words.

A schema is public: it is written without looking at the rows. What it says of
a column (bounds, bins, values) is knowledge about the subject; a bound that was
looked up in the rows is published, and no guarantee covers it. Your own is a
TOML file, which "infer" begins and "check" checks:

  label = "repaid"            the column to predict
  template = "… {age} …"      how a row reads, without the label
  question = "…?"             what the label answers
  [[column]]                  for every column that is used: name, kind and
    kind = "numeric"            low, high; clamp = true: what is outside counts
                                as the nearest bound; edges: where bins meet;
                                missing = "0": what an empty field counts as
    kind = "categorical"        values: all of them; aliases; other and missing:
                                what unknown and empty fields count as
    phrases, forms              how values read, as {column}, {column.form}
  [groups]                    ready-made partitions for profiles

A value that no rule covers is refused, never guessed.` + ui.JSONKeys(schemaList{}, "For one of them: "+ui.KeyList(schemaView{})+"; cells is how many different rows the discrete columns allow, and example and answer are a made-up row in words."),
		Example: `  sotto table schema
  sotto table schema adult
  sotto table schema adult --toml > mine.toml
  sotto table schema check mine.toml
  sotto table schema infer --data people.csv > mine.toml`,
		Args:        cli.UpTo("NAME"),
		Annotations: map[string]string{cli.RunsItself: "yes"},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listSchemas(p)
			}
			return showSchema(p, args[0], source)
		},
		ValidArgsFunction: cli.CompleteSchemas,
	}
	cmd.Flags().BoolVar(&source, "toml", false, "print its file, to start your own from")
	cmd.AddCommand(newSchemaCheckCommand(p), newSchemaInferCommand(p))
	return cmd
}

type schemaSummary struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Columns int    `json:"columns"`
	Label   string `json:"label"`
	Cells   uint64 `json:"cells"`
}

type schemaList struct {
	Schemas []schemaSummary `json:"schemas"`
}

func listSchemas(p *cli.Program) error {
	r := &schemaList{}
	for _, name := range schema.Builtins() {
		s, err := schema.Find(name)
		if err != nil {
			return err
		}
		r.Schemas = append(r.Schemas, schemaSummary{s.Name, s.Title, len(s.Columns), s.Label, s.Cells()})
	}
	return p.Emit(r)
}

func (r *schemaList) Print(p *ui.Page) {
	t := ui.NewTable("schema", "#columns", "what it is")
	for _, s := range r.Schemas {
		t.Add(s.Name, fmt.Sprint(s.Columns), s.Title)
	}
	p.Table(t)
}

type schemaView struct {
	schema.Schema
	Cells   uint64 `json:"cells"`
	Example string `json:"example"`
	Answer  string `json:"answer,omitempty"`
	File    string `json:"file"`

	source bool
}

func newSchemaView(s schema.Schema, file string, source bool) *schemaView {
	v := &schemaView{Schema: s, Cells: s.Cells(), File: file, source: source}
	row := s.Example()
	v.Example = s.Text(row)
	if s.LabelColumn() >= 0 {
		v.Answer = s.Answer(row)
	}
	return v
}

func showSchema(p *cli.Program, ref string, source bool) error {
	s, file, err := cli.FindDocument(ref, schema.Find, schema.Source)
	if err != nil {
		return err
	}
	return p.Emit(newSchemaView(s, file, source))
}

func (r *schemaView) Print(p *ui.Page) {
	if r.source {
		p.File(r.File)
		return
	}
	p.Head("%s", r.Name)
	p.Facts("title", r.Title, "label", r.Label, "cells", cellsInWords(r.Schema), "groups", partitionsInWords(r.Groups))
	p.Line("")
	t := ui.NewTable("column", "kind", "#values", "what it allows")
	for _, c := range r.Columns {
		size := ""
		if d := len(c.Domain()); d > 0 {
			size = fmt.Sprint(d)
		}
		t.Add(c.Name, string(c.Kind), size, allows(c))
	}
	p.Table(t)
	p.Line("\n%s", p.Paint(ui.Bold, "a made-up row in words: the middle of every column"))
	text := r.Example
	text += ui.If(r.Answer != "", " Answer: "+r.Answer)
	for _, line := range ui.Fold(text, ui.Width-4) {
		p.Line("  │ %s", line)
	}
}

// cellsInWords says how many rows there can be, as far as local privacy goes.
func cellsInWords(s schema.Schema) string {
	var numbers []string
	for _, c := range s.Columns {
		if !c.Discrete() {
			numbers = append(numbers, c.Name)
		}
	}
	cells := ui.Thousands(int64(min(s.Cells(), math.MaxInt64)))
	switch n := len(numbers); {
	case n == len(s.Columns):
		return ""
	case n == 1:
		return fmt.Sprintf("%s different rows, not counting %s, which has no bins", cells, numbers[0])
	case n > 1:
		return fmt.Sprintf("%s different rows, not counting %d columns without bins", cells, n)
	}
	return cells + " different rows"
}

func partitionsInWords(groups map[string][]schema.Group) string {
	var all []string
	for name, list := range groups {
		var columns []string
		for _, g := range list {
			columns = append(columns, g.Column)
		}
		all = append(all, fmt.Sprintf("%s by %s", name, strings.Join(columns, ", ")))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// allows lists the rules of a column.
func allows(c schema.Column) string {
	var rules []string
	if c.Kind == schema.Numeric {
		bounds := fmt.Sprintf("%v to %v", c.Low, c.High)
		if c.Dates() {
			bounds = c.Show(c.Low) + " to " + c.Show(c.High)
		}
		bounds += ui.If(c.Format != "" && !c.Dates(), ", written as "+c.Format)
		bounds += ui.If(c.Clamp, ", clamped")
		rules = append(rules, bounds)
	}
	if domain := c.Domain(); len(domain) > 0 {
		const maxShown = 6
		between := ", "
		if c.Kind == schema.Numeric {
			between = " | "
		}
		list := strings.Join(domain[:min(len(domain), maxShown)], between)
		list += ui.If(len(domain) > maxShown, fmt.Sprintf(" and %d more", len(domain)-maxShown))
		rules = append(rules, list)
	}
	if len(c.Aliases) > 0 {
		rules = append(rules, fmt.Sprintf("other spellings: %d", len(c.Aliases)))
	}
	if c.Other != "" {
		rules = append(rules, "anything else: "+c.Other)
	}
	if c.Missing != "" {
		rules = append(rules, "missing: "+c.Missing)
	}
	return strings.Join(rules, "; ")
}

func newSchemaCheckCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE|NAME",
		Short: "What is wrong with a schema",
		Long: `Reads a schema and reports everything wrong with it, where, and what to do
(exit code 2), or shows it as "sotto table schema" does. Only the schema is
read.

Warnings are about schemas that can be used and may not do what is meant.` + ui.JSONKeys(schemaCheckResult{}, `schema is as "sotto table schema" has it.`),
		Example:           `  sotto table schema check mine.toml`,
		Args:              cli.Takes("FILE"),
		RunE:              func(_ *cobra.Command, args []string) error { return checkSchema(p, args[0]) },
		ValidArgsFunction: cli.CompleteSchemas,
	}
}

type schemaCheckResult struct {
	Name     string           `json:"name"`
	OK       bool             `json:"ok"`
	Problems []schema.Problem `json:"problems"`
	Schema   *schemaView      `json:"schema,omitempty"`
}

func checkSchema(p *cli.Program, ref string) error {
	data, err := schema.Source(ref)
	if err != nil {
		return cli.DocumentError(err)
	}
	s, found := schema.Examine(schema.NameOf(ref), data)
	r := &schemaCheckResult{Name: s.Name, OK: document.Valid(found), Problems: append([]schema.Problem{}, found...)}
	if r.OK {
		r.Schema = newSchemaView(s, string(data), false)
	}
	return p.Conclusion(ref, r.OK, r)
}

func (r *schemaCheckResult) Print(p *ui.Page) {
	p.Problems(r.Problems)
	if !r.OK {
		return
	}
	if len(r.Problems) > 0 {
		p.Line("")
	}
	r.Schema.Print(p)
}

func newSchemaInferCommand(p *cli.Program) *cobra.Command {
	var data string
	var o tables.Options
	cmd := &cobra.Command{
		Use:   "infer --data FILE|ADDRESS [--table T]",
		Short: "Begin a schema with the names and kinds of columns",
		Long: `Prints a schema file to be filled in, with the names of the columns and, where
the source has them, their kinds. It uses the first row of a CSV file or a
sheet, the footer of a Parquet file or the catalogue of a database, and no row
of data: what else a schema needs has to come from knowledge about the subject.

The first row of a CSV file has to be a header. One that has a number, an empty
field or the same text twice is taken for a row of data, and not shown. JSON has
the names in its records, which are not read: list the columns with --column of
"sotto init --kind table" instead.` + ui.JSONKeys(schemaSkeleton{}),
		Example: `  sotto table schema infer --data people.csv > mine.toml
  sotto table schema infer --data postgres://server/db --table public.people`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names, kinds, err := tables.Describe(cmd.Context(), data, o)
			if errors.Is(err, tables.ErrInRecords) {
				return cli.Usage("%w, with --column: sotto init --data %s --kind table --column 'age=18..80'", err, data)
			}
			if err != nil {
				return cli.TableSourceError(err)
			}
			r := &schemaSkeleton{File: string(schema.Infer(names, kinds).Skeleton())}
			for i, name := range names {
				r.Columns = append(r.Columns, skeletonColumn{name, kinds[i]})
			}
			return p.Emit(r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&data, "data", "", "the table: a `FILE`, a folder, or the address of a database; required")
	f.StringVar(&o.Table, "table", "", "the `TABLE` of a database, with its schema before a point if need be")
	f.StringVar(&o.Query, "query", "", "the rows of a database, as `SQL`")
	f.StringVar((*string)(&o.Format), "format", "", "csv, parquet, xlsx or sql (default: by the name)")
	cli.Complete(cmd, "format", "csv", "parquet", "xlsx", "sql")
	cli.Needs(cmd, "data")
	return cmd
}

type skeletonColumn struct {
	Name string      `json:"name"`
	Kind schema.Kind `json:"kind"`
}

type schemaSkeleton struct {
	Columns []skeletonColumn `json:"columns"`
	File    string           `json:"file"`
}

func (r *schemaSkeleton) Print(p *ui.Page) { p.File(r.File) }
