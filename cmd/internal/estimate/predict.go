package estimate

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/learn"
	private "github.com/sotto-dp/sotto/internal/private/table/learn"
	"github.com/sotto-dp/sotto/schema"
)

// Predictor predicts a column of rows by naive Bayes on a released profile, or by released
// evidence: post-processing, at no cost.
type Predictor struct {
	// File says what the profile is of, and its guarantee.
	*File
	// Column is the one that is predicted, and Classes are its values.
	Column  string
	Classes []string

	// inputs are the columns that it looks at, and odds the probabilities of classes by them.
	inputs []input
	odds   func(schema.Row) ([]float64, error)
}

// input is a column that is looked at: its place in the schema, and whether values have codes.
type input struct {
	place    int
	discrete bool
}

// Prediction is the most probable value of a row.
type Prediction struct {
	Value string `json:"value"`
	// Probabilities of all values, in the order of [Predictor.Classes].
	Probabilities []float64 `json:"probabilities"`

	// Known is the value that the row has, or "" where it has none that the schema allows.
	Known string `json:"-"`
}

// ReadPredictor makes a predictor of the evidence in a folder, or of the profile of "sotto table profile". The
// profile has to be grouped by the column; "" is the label of its schema.
func ReadPredictor(dir, column string) (*Predictor, error) {
	if p, is, err := byEvidence(dir, column); is {
		return p, err
	}
	f, profile, err := readProfile(dir)
	if err != nil {
		return nil, err
	}
	of := f.Schema
	if column != "" {
		if _, ok := of.Column(column); !ok {
			return nil, wrong("the schema %s has no column %q to predict", of.Name, column)
		}
		of.Label = column
	}
	p := &Predictor{File: f, Column: of.Label}
	var failed error
	// Numbers have histograms of their bins, or moments.
	for _, bins := range []bool{true, false} {
		form, err := learn.NewForm(of, bins)
		if err != nil {
			return nil, wrong("%w", err)
		}
		model, err := private.Bayes(form, profile, learn.NaiveBayesOptions{})
		if err == nil {
			p.Classes = form.Classes()
			for _, i := range form.Inputs() {
				p.inputs = append(p.inputs, input{i.Place, i.Discrete})
			}
			p.odds = func(row schema.Row) ([]float64, error) { return model.Probabilities(row, nil) }
			return p, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, wrong("%s cannot predict %q: %w; make one with \"sotto table profile --histograms\"", dir, of.Label, failed)
}

// Predict predicts all rows of a CSV file with a header. The file has every column of the
// schema; the predicted one may be missing, has no say, and is what [Prediction.Known] is read from. Other
// columns have no say either.
func (p *Predictor) Predict(in io.Reader) ([]Prediction, error) {
	r := csv.NewReader(in)
	header, err := r.Read()
	if err != nil {
		return nil, wrong("the rows have no header: name the columns in the first line")
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	columns := make(map[int]int) // places in the schema to places in the file
	for _, i := range p.inputs {
		name := p.Schema.Columns[i.place].Name
		if columns[i.place] = slices.Index(header, name); columns[i.place] < 0 {
			return nil, wrong("the rows have no column %q: the header names every column of the schema except %q", name, p.Column)
		}
	}
	predicted, _ := p.Schema.Column(p.Column)
	known, answers := slices.Index(header, p.Column), p.Schema.Columns[predicted].Encoder()
	encoders := make(map[int]*schema.Encoder)
	for _, i := range p.inputs {
		encoders[i.place] = p.Schema.Columns[i.place].Encoder()
	}
	var out []Prediction
	for n := 1; ; n++ {
		fields, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, wrong("row %d: %w", n, err)
		}
		row := make(schema.Row, len(p.Schema.Columns))
		for _, i := range p.inputs {
			if row[i.place], err = value(encoders[i.place], i.discrete, fields[columns[i.place]]); err != nil {
				return nil, wrong("row %d: column %q: %w", n, p.Schema.Columns[i.place].Name, err)
			}
		}
		odds, err := p.odds(row)
		if err != nil {
			return nil, wrong("row %d: %w", n, err)
		}
		q := Prediction{Value: p.Classes[slices.Index(odds, slices.Max(odds))], Probabilities: odds}
		if known >= 0 {
			if code, o := answers.Code(fields[known]); o == schema.OK {
				q.Known = p.Classes[code]
			}
		}
		out = append(out, q)
	}
	if len(out) == 0 {
		return nil, wrong("there are no rows to predict: give at least one")
	}
	return out, nil
}

// value reads a field as the schema says.
func value(e *schema.Encoder, discrete bool, text string) (v schema.Value, err error) {
	var outcome schema.Outcome
	if discrete {
		var code uint16
		code, outcome = e.Code(text)
		v = schema.Value{Code: int(code), Discrete: true}
	} else {
		v.Number, outcome = e.Number(text)
	}
	if outcome != schema.OK {
		return v, errors.New(outcome.String())
	}
	return v, nil
}
