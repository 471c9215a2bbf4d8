package estimate

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/schema"
)

// Question is a row that examples are to resemble.
type Question struct {
	reconstruct.Near
	// Text puts the row into words, "" if only some of its columns are known.
	Text string
}

// ParseQuestion reads COLUMN=VALUE,…; a pair with a comma in it is quoted as in CSV.
func ParseQuestion(of schema.Schema, list string, mismatch float64) (Question, error) {
	r := csv.NewReader(strings.NewReader(list))
	r.TrimLeadingSpace = true
	fields, err := r.Read()
	if err != nil {
		return Question{}, wrong("it is not a list of COLUMN=VALUE,…: put quotes around a pair that has commas in it")
	}
	var names, values []string
	for _, pair := range fields {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return Question{}, wrong("%q should be COLUMN=VALUE", pair)
		}
		names, values = append(names, strings.TrimSpace(name)), append(values, strings.TrimSpace(value))
	}
	if slices.Contains(names, of.Label) {
		return Question{}, wrong("%q is what examples are to answer: leave it out", of.Label)
	}
	return question(of, names, values, mismatch)
}

// ReadQuestions reads the rows of a CSV file with a header. The label takes no part, and may
// be there.
func ReadQuestions(of schema.Schema, from io.Reader, mismatch float64) ([]Question, error) {
	r := csv.NewReader(from)
	names, err := r.Read()
	if err != nil {
		return nil, wrong("there is no header: name the columns in the first line")
	}
	names[0] = strings.TrimPrefix(names[0], "\ufeff")
	var out []Question
	for {
		values, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var q Question
		if err == nil {
			q, err = question(of, names, values, mismatch)
		}
		if err != nil {
			return nil, wrong("row %d: %w", len(out)+1, err)
		}
		out = append(out, q)
	}
	if len(out) == 0 {
		return nil, wrong("there are no rows: give at least one")
	}
	return out, nil
}

// question puts values into codes.
func question(of schema.Schema, names, values []string, mismatch float64) (Question, error) {
	q := Question{Near: reconstruct.Near{Query: make(schema.Row, len(of.Columns)), Mismatch: mismatch}}
	label, known := of.LabelColumn(), map[int]bool{}
	for k, name := range names {
		i, err := of.Named(name)
		switch {
		case err != nil:
			return q, inputError(err)
		case known[i]:
			return q, wrong("%q is given twice", name)
		case i == label:
			continue
		}
		c := of.Columns[i]
		e := c.Encoder()
		code, ok := e.Place(values[k]) // as examples say bins
		if !ok {
			outcome := schema.OK
			if code, outcome = e.Code(values[k]); outcome != schema.OK {
				return q, wrong("column %q: %q is %s: it has %s", name, values[k], outcome, strings.Join(c.Domain(), ", "))
			}
		}
		q.Query[i], known[i] = schema.Value{Code: int(code), Discrete: true}, true
	}
	for i := range of.Columns {
		if !known[i] {
			q.Free = append(q.Free, i)
			q.Query[i] = schema.Value{Discrete: true}
		}
	}
	if len(known) == 0 {
		return q, wrong("no column is named except the label: say what is known of the row")
	}
	if slices.Equal(q.Free, []int{label}) || len(q.Free) == 0 {
		q.Text = of.Text(q.Query)
	}
	return q, nil
}
