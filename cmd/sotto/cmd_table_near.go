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

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/bounded"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/schema"
)

// nearFlags say which questions examples are to resemble.
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

// askedRow is a row that is asked about.
type askedRow struct {
	reconstruct.Near
	// text puts what is known of it into words; "" where a column is not.
	text string
}

// read finds the questions that flags ask about.
func (o *nearFlags) read(of schema.Schema) ([]askedRow, error) {
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
		q, err := o.question(of, "near", names, values)
		return []askedRow{q}, err
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

func (o *nearFlags) readRows(of schema.Schema) ([]askedRow, error) {
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
	var out []askedRow
	for {
		values, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, usage("--near-rows: row %d of %s: %w", len(out)+1, o.rows, err)
		}
		q, err := o.question(of, "near-rows", names, values)
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

// question puts values into codes. The label takes no part, and may be there in files.
func (o *nearFlags) question(of schema.Schema, flag string, names, values []string) (askedRow, error) {
	q := askedRow{Near: reconstruct.Near{Query: make(schema.Row, len(of.Columns)), Mismatch: o.mismatch.value}}
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

// sampleSet are the examples for one question.
type sampleSet struct {
	NotPrivate bool `json:"not_private,omitempty"`
	// Question is in words if all of it is known.
	Question string       `json:"question,omitempty"`
	Demos    []sampleDemo `json:"demos"`

	examples []release.Example
}

// near draws examples for each question; without any, one set without regard to one.
func (f *estimateFile) near(questions []askedRow, k int, seed *uint64) ([]sampleSet, error) {
	if len(questions) == 0 {
		examples, err := f.sample(k, seed)
		return []sampleSet{newSampleSet("", examples)}, err
	}
	s, err := reconstruct.NewSampler(len(f.Schema.Columns), f.Estimates...)
	if err != nil {
		return nil, usage("%w", err)
	}
	stream, err := drawFrom(seed)
	if err != nil {
		return nil, err
	}
	var out []sampleSet
	words := f.Schema.Wording()
	for _, q := range questions {
		rows, err := s.Near(q.Near, k, stream)
		if err != nil {
			return nil, usage("%w", err)
		}
		var examples []release.Example
		for _, row := range rows {
			examples = append(examples, release.Example{Input: words.Text(row), Output: words.Answer(row)})
		}
		set := newSampleSet(q.text, examples)
		set.NotPrivate = !f.Private
		out = append(out, set)
	}
	return out, nil
}

func newSampleSet(question string, examples []release.Example) sampleSet {
	s := sampleSet{Question: question, Demos: []sampleDemo{}, examples: examples}
	for _, e := range examples {
		s.Demos = append(s.Demos, sampleDemo{e.Input, e.Output})
	}
	return s
}

// setsName is the file of examples for many questions.
const setsName = "sets.jsonl"

// saveSets writes a line for each question.
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

// readProfile makes an estimate of the histograms in a folder of "sotto table profile".
func readProfile(dir string) (*estimateFile, error) {
	var of plan.Profile
	var told struct {
		NotPrivate bool `json:"not_private"`
		global.Profile
	}
	for name, into := range map[string]any{"plan.json": &of, "profile.json": &told} {
		data, err := bounded.ReadFile(filepath.Join(dir, name), bounded.Huge)
		if err == nil {
			err = bounded.UnmarshalJSON(data, bounded.Huge, into)
		}
		if err != nil {
			return nil, usage("the profile: %w; name a folder that \"sotto table profile --histograms\" wrote", err)
		}
	}
	h, err := sotto.HistogramsOf(of.Schema, told.Profile)
	if err != nil {
		return nil, usage("%s: %w", dir, err)
	}
	f := &estimateFile{
		Format: estimateFormat, Schema: of.Schema, Rows: of.Size, Private: of.Private() && !told.NotPrivate,
		profileFields: profileFields{made: release.Drawn, adjacency: of.Adjacency(), unit: of.Unit, delta: of.Delta, inner: of.Inner(), noiseless: !of.Private()},
	}
	if f.Private {
		if f.Event, err = f.cost(of); err != nil {
			return nil, err
		}
	}
	f.Estimates, err = reconstruct.FromHistograms(h)
	if err != nil {
		return nil, usage("%s: %w", dir, err)
	}
	return f, nil
}

// cost is the event of a profile, whose ε it works out.
func (f *estimateFile) cost(of plan.Profile) (string, error) {
	if err := of.Check(); err != nil {
		return "", usage("the plan of the profile: %w", err)
	}
	epsilon, err := accountant.Auto{}.Epsilon(of.Event(), f.adjacency, f.delta)
	if err != nil {
		return "", fmt.Errorf("work out ε: %w", err)
	}
	f.Epsilon = epsilon.Upper
	return of.Event().String(), nil
}

// profileFields of an estimate are those that one of a profile has beside; they are not in
// files of estimates.
type profileFields struct {
	made      release.Origin
	adjacency privacy.Adjacency
	unit      privacy.Unit
	delta     float64
	inner     []privacy.Event // of those of whom it is known that they were sampled
	noiseless bool
}
