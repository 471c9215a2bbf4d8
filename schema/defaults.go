package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Column finds a column by its name.
func (s Schema) Column(name string) (int, bool) {
	i := slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == name })
	return i, i >= 0
}

// Named is [Schema.Column] with an error that lists the columns, or suggests one.
func (s Schema) Named(name string) (int, error) {
	i, ok := s.Column(name)
	if !ok {
		return i, fmt.Errorf("the schema %s has no column %q; %s", s.Name, name, s.known(name))
	}
	return i, nil
}

// LabelColumn returns the place of the label among the columns, or -1 if there is none.
func (s Schema) LabelColumn() int {
	i, _ := s.Column(s.Label)
	return i
}

// Cells returns the number of different rows that the discrete columns allow, at most
// [math.MaxUint64].
func (s Schema) Cells() uint64 {
	cells := uint64(1)
	for _, c := range s.Columns {
		if d := uint64(len(c.Domain())); d > 0 {
			if cells > math.MaxUint64/d {
				return math.MaxUint64
			}
			cells *= d
		}
	}
	return cells
}

// Canonical encodes a schema with its defaults: equal schemas have equal bytes, however
// they were written. It is nil for bounds that are not numbers, which [Schema.Check]
// refuses.
func (s Schema) Canonical() []byte {
	data, err := json.Marshal(struct {
		Format string `json:"format"`
		Schema
	}{"sotto schema 1", s.WithDefaults()})
	if err != nil {
		return nil
	}
	return data
}

// WithDefaults fills in defaults: names of bins, and without a template a sentence for
// every column. It shares nothing with its receiver, and leaves errors for [Schema.Check]
// to find.
func (s Schema) WithDefaults() Schema {
	columns := make([]Column, len(s.Columns))
	for i, c := range s.Columns {
		columns[i] = c.clone()
		columns[i].Values = slices.Clone(c.Domain())
		if c.Kind != Categorical && len(c.Edges) == 0 {
			columns[i].Values = slices.Clone(c.Values) // a mistake, for the check
		}
	}
	s.Columns = columns
	groups := cloneMap(s.Groups)
	for name, list := range groups {
		groups[name] = cloneGroups(list)
	}
	s.Groups = groups
	s.Template, s.Question = oneLine(s.Template), oneLine(s.Question)
	if s.Template == "" {
		s.Template = s.defaultTemplate()
	}
	if s.Question == "" {
		s.Question = s.defaultQuestion()
	}
	return s
}

func cloneGroups(list []Group) []Group {
	out := slices.Clone(list)
	for i, g := range out {
		out[i].Classes, out[i].Cuts = slices.Clone(g.Classes), slices.Clone(g.Cuts)
		for j, values := range g.Classes {
			out[i].Classes[j] = slices.Clone(values)
			if values == nil {
				out[i].Classes[j] = []string{} // the rest, whichever way it is written
			}
		}
	}
	return out
}

// oneLine lets templates be written on many lines. A demonstration is on one.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (s Schema) defaultTemplate() string {
	var sentences []string
	for _, c := range s.Columns {
		if c.Name != s.Label {
			sentences = append(sentences, fmt.Sprintf("The %s is {%s}.", inWords(c.Name), c.Name))
		}
	}
	return strings.Join(sentences, " ")
}

func (s Schema) defaultQuestion() string {
	i := s.LabelColumn()
	if i < 0 {
		return ""
	}
	c := s.Columns[i]
	var answers []string
	for _, v := range c.Domain() {
		answers = append(answers, c.phrase(v))
	}
	const few = 8
	if len(answers) < 2 || len(answers) > few {
		return fmt.Sprintf("What is the %s?", inWords(c.Name))
	}
	last := len(answers) - 1
	return fmt.Sprintf("What is the %s: %s or %s?", inWords(c.Name), strings.Join(answers[:last], ", "), answers[last])
}

// inWords makes words of a column's name.
func inWords(name string) string { return oneLine(strings.ReplaceAll(name, "_", " ")) }
