package record

import (
	"slices"
	"strconv"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
	"github.com/sotto-dp/sotto/schema"
)

// wording puts rows of a table into words, as its public schema says: values are encoded
// as package table encodes them, so that a row reads the same in a prompt as where it is
// counted. The words of a row depend on that row and the schema alone: adding or removing
// it changes one record. It is not for concurrent use.
type wording struct {
	o         *Options
	s         source
	words     *schema.Wording
	encodings []*table.Encoding
	scales    []table.Scale
	cell      table.Vector
	row       schema.Row
	// inWords, of a source with a header: its rows are in words already. It is known once a
	// row was read.
	inWords *bool
}

func newWording(o *Options, s source) *wording {
	w := &wording{
		o: o, s: s, words: o.Schema.Wording(), row: make(schema.Row, len(o.Schema.Columns)),
		cell: table.Vector{Codes: make([]uint16, 1), Steps: make([]int32, 1)},
	}
	for _, c := range o.Schema.Columns {
		w.encodings, w.scales = append(w.encodings, table.NewEncoding(c, false)), append(w.scales, table.NewScale(c))
	}
	return w
}

// already reports whether a row is in words. Where there is a header, that says so of all
// rows. JSON has none: each line says it of itself, so that no line decides how another is
// read.
func (w *wording) already(r *rows.Row) bool {
	if w.o.format != origin.JSONL {
		if w.inWords == nil {
			known := w.o.inWords(w.s.names())
			w.inWords = &known
		}
		return *w.inWords
	}
	there := func(v rows.Value) bool { return v.Kind != rows.Absent }
	all := !slices.ContainsFunc(r.Values[numRoles:], func(v rows.Value) bool { return !there(v) })
	return !all && (there(r.Values[roleText]) || !slices.ContainsFunc(r.Values[numRoles:], there))
}

// say puts the cells of a row into words, or says which column the schema refuses it for.
func (w *wording) say(r *rows.Row) (why origin.Reason, column string) {
	for i, e := range w.encodings {
		if refused := w.encode(e, r.Values[numRoles:][i]); refused != 0 {
			return refused, w.o.Schema.Columns[i].Name
		}
		w.row[i] = schema.Value{Code: int(w.cell.Codes[0]), Discrete: true}
		if !e.Codes() {
			w.row[i] = schema.Value{Number: w.scales[i].Value(float64(w.cell.Steps[0]))}
		}
	}
	r.Values[roleText] = rows.Value{Kind: rows.Text, S: w.words.Text(w.row)}
	r.Values[roleCondition] = rows.Value{Kind: rows.Text, S: w.words.Answer(w.row)}
	return 0, ""
}

// encode puts a value into the cell. A number in a database or a file of types is a number,
// however many digits it is written with.
func (w *wording) encode(e *table.Encoding, v rows.Value) origin.Reason {
	switch v.Kind {
	case rows.Absent:
		return e.Null(&w.cell, 0)
	case rows.Compound:
		return origin.ValueWrongKind
	case rows.Scalar:
		if n, err := strconv.ParseInt(v.S, 10, 64); err == nil {
			return e.Int(&w.cell, 0, n)
		}
		if x, err := strconv.ParseFloat(v.S, 64); err == nil {
			return e.Number(&w.cell, 0, x)
		}
	}
	return e.Text(&w.cell, 0, []byte(v.S))
}

// example is a column that a source should have.
func (o *Options) example() string {
	if o.Schema != nil && len(o.Schema.Columns) > 0 {
		return o.Schema.Columns[0].Name
	}
	return o.Text
}
