package estimate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/learn"
	private "github.com/sotto-dp/sotto/internal/private/table/learn"
	"github.com/sotto-dp/sotto/schema"
)

// Predictor predicts a column of rows by naive Bayes on a released profile:
// post-processing, at no cost.
type Predictor struct {
	// File says what the profile is of, and its guarantee.
	*File
	// Column is the one that is predicted, and Classes are its values.
	Column  string
	Classes []string

	form  *learn.Form
	model *learn.NaiveBayes
}

// Prediction is the most probable value of a row.
type Prediction struct {
	Value string `json:"value"`
	// Probabilities of all values, in the order of [Predictor.Classes].
	Probabilities []float64 `json:"probabilities"`
}

// ReadPredictor makes a predictor of the profile in a folder of "sotto table profile". The
// profile has to be grouped by the column; "" is the label of its schema.
func ReadPredictor(dir, column string) (*Predictor, error) {
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
		if p.form, err = learn.NewForm(of, bins); err != nil {
			return nil, wrong("%w", err)
		}
		if p.model, err = private.Bayes(p.form, profile, learn.NaiveBayesOptions{}); err == nil {
			p.Classes = p.form.Classes()
			return p, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, wrong("%s cannot predict %q: %w; make one with \"sotto table profile --histograms\"", dir, of.Label, failed)
}

// Predict predicts all rows of a CSV file with a header. The file has every column of the
// schema except the predicted one, which has no say; other columns have none either.
func (p *Predictor) Predict(in io.Reader) ([]Prediction, error) {
	r := csv.NewReader(in)
	header, err := r.Read()
	if err != nil {
		return nil, wrong("the rows have no header: name the columns in the first line")
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	columns := make(map[int]int) // places in the schema to places in the file
	for _, i := range p.form.Inputs() {
		name := p.Schema.Columns[i.Place].Name
		if columns[i.Place] = slices.Index(header, name); columns[i.Place] < 0 {
			return nil, wrong("the rows have no column %q: the header names every column of the schema except %q", name, p.Column)
		}
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
		for _, i := range p.form.Inputs() {
			if row[i.Place], err = value(p.Schema.Columns[i.Place], i.Discrete, fields[columns[i.Place]]); err != nil {
				return nil, wrong("row %d: %w", n, err)
			}
		}
		odds, err := p.model.Probabilities(row, nil)
		if err != nil {
			return nil, wrong("row %d: %w", n, err)
		}
		out = append(out, Prediction{p.Classes[slices.Index(odds, slices.Max(odds))], odds})
	}
	if len(out) == 0 {
		return nil, wrong("there are no rows to predict: give at least one")
	}
	return out, nil
}

// value reads a field as the schema says.
func value(c schema.Column, discrete bool, text string) (v schema.Value, err error) {
	var outcome schema.Outcome
	if discrete {
		var code uint16
		code, outcome = c.Encoder().Code(text)
		v = schema.Value{Code: int(code), Discrete: true}
	} else {
		v.Number, outcome = c.Encoder().Number(text)
	}
	if outcome != schema.OK {
		return v, fmt.Errorf("column %q: %v", c.Name, outcome)
	}
	return v, nil
}

// SaveCSV writes predictions to a new CSV file: the value of each row, and the probability of each
// class. What a profile that protects nobody predicts says so in a column.
func (p *Predictor) SaveCSV(path string, list []Prediction) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	header := []string{p.Column}
	for _, c := range p.Classes {
		header = append(header, "probability of "+c)
	}
	if !p.Private {
		header = append(header, "not_private")
	}
	lines := [][]string{header}
	for _, q := range list {
		line := []string{q.Value}
		for _, x := range q.Probabilities {
			line = append(line, strconv.FormatFloat(x, 'g', 6, 64))
		}
		if !p.Private {
			line = append(line, "true")
		}
		lines = append(lines, line)
	}
	return csv.NewWriter(f).WriteAll(lines)
}
