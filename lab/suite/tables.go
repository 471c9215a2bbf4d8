package suite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// table reports whether a data set is one, rather than texts.
func (d Dataset) table() bool { return d.Data != "" || d.Schema != "" || d.LocalSchema != "" }

// Table reports whether a cell is about a table, whose demonstrations no model writes.
func (c Cell) Table() bool { return c.Dataset.table() }

// Learns reports whether a baseline answers, and no language model.
func (c Cell) Learns() bool { return kinds[c.Method].learns }

// endless reports whether some method can do without noise.
func (s Suite) endless() bool {
	return slices.ContainsFunc(s.Methods, func(m Method) bool { return kinds[m.Method].endless })
}

// checkTable finds what a table lacks or does not have.
func (s Suite) checkTable(found *document.Problems, at func(string) string, d Dataset) {
	if d.Data == "" {
		found.Wrong(at("data"), "it is missing", "name the file with the rows of the table")
	}
	for key, ref := range map[string]string{"schema": d.Schema, "local_schema": d.LocalSchema} {
		if ref == "" || document.IsPath(ref) || slices.Contains(schema.Builtins(), ref) {
			continue
		}
		unknown(found, at(key), "there is no schema", ref, schema.Builtins(), "built in are "+strings.Join(schema.Builtins(), ", ")+"; or give the path of a schema file")
	}
	if d.TrainRows < 0 || !(d.TrainShare >= 0 && d.TrainShare < 1) || (d.TrainRows > 0) == (d.TrainShare > 0) {
		found.Wrong(at("train_share"), "it does not split the rows", "say train_share = 0.8, or train_rows = the number of rows that come first and are learned from; one of the two")
	}
	given := map[string]bool{
		"task": d.Task != "", "train": d.Train != "", "test": d.Test != "", "sizes": len(d.Sizes) > 0, "group": d.Group,
		"skip_malformed": d.SkipMalformed, "tokens": d.Tokens != 0, "answer_tokens": d.AnswerTokens != 0, "conditions": len(d.Conditions) > 0, "inputs": d.Inputs != "",
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if given[key] {
			found.Wrong(at(key), "a table does not have it", "leave it out: a table has data, schema, local_schema, size, and train_share or train_rows")
		}
	}
}

// checkFits reports whether a method can be tried on a data set, and otherwise why not.
func (s Suite) checkFits(found *document.Problems, at func(string) string, d Dataset, m Method) bool {
	k := kinds[m.Method]
	switch {
	case k.table && !d.table():
		found.Wrong(at("datasets"), fmt.Sprintf("%s is for tables, and %s is none", m.Method, d.Name), "list the data sets that it is for, those with data and a schema")
	case d.table() && !k.table && !k.both:
		found.Wrong(at("datasets"), fmt.Sprintf("%s is for texts, and %s is a table", m.Method, d.Name), "list the data sets that it is for, those with a task")
	case d.table() && m.view(d) == viewLocal && d.LocalSchema == "":
		found.Wrong(at("datasets"), fmt.Sprintf("%s needs the local_schema of %s", m.Method, d.Name), "give the data set one, or list those that have it")
	case d.table() && m.view(d) == viewGlobal && d.Schema == "":
		found.Wrong(at("datasets"), fmt.Sprintf("%s needs the schema of %s", m.Method, d.Name), "give the data set one, or list those that have it")
	case !d.table() && m.settings(d.Name).View != "":
		found.Wrong(at("view"), fmt.Sprintf("%s is no table", d.Name), "leave it out")
	case !d.table() && m.settings(d.Name).Near != 0:
		found.Wrong(at("near"), fmt.Sprintf("%s is no table", d.Name), "leave it out")
	case m.settings(d.Name).Near != 0 && !(m.settings(d.Name).Near >= reconstruct.MinMismatch && m.settings(d.Name).Near <= 1):
		found.Wrong(at("near"), fmt.Sprintf("it is %v", m.settings(d.Name).Near), "give a number from %v to 1", float64(reconstruct.MinMismatch))
	default:
		return true
	}
	return false
}

// view of a data set that a method has; "" where it is no table.
func (m Method) view(d Dataset) string {
	if !d.table() {
		return ""
	}
	return cmp.Or(kinds[m.Method].view, m.settings(d.Name).View, viewGlobal)
}

// views of a data set that occur.
func (s Suite) views(d Dataset) map[string]bool {
	out := map[string]bool{}
	for _, m := range s.Methods {
		if m.tried(d.Name) {
			out[m.view(d)] = true
		}
	}
	return out
}

// taskOf a data set, as a view has it.
func (s Suite) taskOf(d Dataset, view string) (prompt.Task, error) {
	if !d.table() {
		return s.task(d)
	}
	sch, err := s.schema(d, view)
	if err != nil {
		return prompt.Task{}, err
	}
	t, err := sch.Task()
	if err != nil {
		return t, fmt.Errorf("data set %s: %w", d.Name, err)
	}
	return t, nil
}

// schema of a table.
func (s Suite) schema(d Dataset, view string) (schema.Schema, error) {
	ref := d.Schema
	if view == viewLocal {
		ref = d.LocalSchema
	}
	if document.IsPath(ref) {
		ref = s.path(ref)
	}
	sch, err := schema.Find(ref)
	if err != nil {
		return sch, fmt.Errorf("data set %s: %w", d.Name, err)
	}
	return sch, nil
}

// certain cells come out the same from every seed: once is enough.
func (c Cell) certain() bool {
	switch c.Method {
	case "zero":
		return true
	case "global":
		return c.Epsilon == nil && c.Settings.Rate == 0
	}
	return kinds[c.Method].learns && c.Epsilon == nil
}
