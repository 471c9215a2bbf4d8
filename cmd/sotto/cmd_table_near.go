package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/schema"
)

// nearFlags say which rows examples are to resemble.
type nearFlags struct {
	near     string
	rows     string
	mismatch number
}

func (o *nearFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.near, "near", "", "draw examples that resemble a row, `COLUMN=VALUE,…`; columns left out take no part")
	f.StringVar(&o.rows, "near-rows", "", "the same for every row of a CSV `FILE` with a header, a set of examples for each")
	f.Var(&o.mismatch, "mismatch", fmt.Sprintf("how much less likely each column that differs makes an example, up to 1 (default: %v)", reconstruct.DefaultMismatch))
}

// nearRow is a row that examples are to resemble.
type nearRow struct {
	reconstruct.Near
	// text puts what is known of it into words; "" where a column is not.
	text string
}

// read finds the rows that flags name.
func (o *nearFlags) read(of schema.Schema) ([]nearRow, error) {
	switch {
	case o.near != "" && o.rows != "":
		return nil, usage("--near and --near-rows exclude each other: say one row, or name a file of them")
	case o.mismatch.set && o.near == "" && o.rows == "":
		return nil, usage("--mismatch goes with --near or --near-rows")
	case o.mismatch.set && !(o.mismatch.value >= reconstruct.MinMismatch && o.mismatch.value <= 1):
		return nil, usage("--mismatch is %v, it should be from %v to 1", o.mismatch.value, float64(reconstruct.MinMismatch))
	case o.near != "":
		names, values, err := pairsOf(o.near)
		if err != nil {
			return nil, err
		}
		q, err := o.row(of, "near", names, values)
		return []nearRow{q}, err
	case o.rows != "":
		return o.readRows(of)
	}
	return nil, nil
}

// pairsOf reads COLUMN=VALUE,…; a value with a comma in it is quoted as in CSV.
func pairsOf(list string) (names, values []string, err error) {
	r := csv.NewReader(strings.NewReader(list))
	r.TrimLeadingSpace = true
	fields, err := r.Read()
	if err != nil {
		return nil, nil, usage("--near is not a list of COLUMN=VALUE,…: put quotes around a pair that has commas in it")
	}
	for _, pair := range fields {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, nil, usage("--near has %q, it should be COLUMN=VALUE", pair)
		}
		names, values = append(names, strings.TrimSpace(name)), append(values, strings.TrimSpace(value))
	}
	return names, values, nil
}

func (o *nearFlags) readRows(of schema.Schema) ([]nearRow, error) {
	f, err := os.Open(o.rows)
	if err != nil {
		return nil, usage("--near-rows: %w", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	names, err := r.Read()
	if err != nil {
		return nil, usage("--near-rows: %s has no header: name the columns in its first line", o.rows)
	}
	names[0] = strings.TrimPrefix(names[0], "\ufeff")
	var out []nearRow
	for {
		values, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, usage("--near-rows: row %d of %s: %w", len(out)+1, o.rows, err)
		}
		q, err := o.row(of, "near-rows", names, values)
		if err != nil {
			return nil, fmt.Errorf("row %d of %s: %w", len(out)+1, o.rows, err)
		}
		out = append(out, q)
	}
	if len(out) == 0 {
		return nil, usage("--near-rows: %s has no rows: give at least one", o.rows)
	}
	return out, nil
}

// row puts values into codes. The label takes no part, and may be there in files.
func (o *nearFlags) row(of schema.Schema, flag string, names, values []string) (nearRow, error) {
	q := nearRow{Near: reconstruct.Near{Query: make(schema.Row, len(of.Columns)), Mismatch: o.mismatch.value}}
	label, known := of.LabelColumn(), map[int]bool{}
	for k, name := range names {
		c, err := column(of, flag, name)
		if err != nil {
			return q, err
		}
		i, _ := of.Column(name)
		switch {
		case known[i]:
			return q, usage("--%s gives %q twice", flag, name)
		case i == label && flag == "near":
			return q, usage("--near has %q, which is what examples are to answer: leave it out", name)
		case i == label:
			continue
		}
		code, err := codeOf(c, values[k])
		if err != nil {
			return q, usage("--%s: column %q: %w", flag, name, err)
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
		return q, usage("--%s names no column but the label: say what is known of the row", flag)
	}
	if slices.Equal(q.Free, []int{label}) || len(q.Free) == 0 {
		q.text = of.Text(q.Query)
	}
	return q, nil
}

// codeOf a value: as the table has it, or as examples say bins.
func codeOf(c schema.Column, text string) (uint16, error) {
	e := c.Encoder()
	if code, ok := e.Place(text); ok {
		return code, nil
	}
	code, outcome := e.Code(text)
	if outcome != schema.OK {
		return 0, fmt.Errorf("%q is %s: it has %s", text, outcome, strings.Join(c.Domain(), ", "))
	}
	return code, nil
}

// sampleSet are the examples for one row.
type sampleSet struct {
	NotPrivate bool `json:"not_private,omitempty"`
	// Question is the row in words, if all of it is known.
	Question string       `json:"question,omitempty"`
	Demos    []sampleDemo `json:"demos"`
}

// setsName is the file of examples for many rows.
const setsName = "sets.jsonl"

// saveSets writes a line for each row.
func saveSets(dir string, sets []sampleSet) ([]string, error) {
	var out []byte
	for _, s := range sets {
		line, err := json.Marshal(s)
		if err != nil {
			return nil, fmt.Errorf("write the examples: %w", err)
		}
		out = append(append(out, line...), '\n')
	}
	return []string{setsName}, os.WriteFile(filepath.Join(dir, setsName), out, 0o644)
}
