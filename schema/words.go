package schema

import (
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

// Wording puts rows of a schema into words. It is safe for concurrent use.
type Wording struct {
	pieces   []piece
	question string
	label    int
	columns  []Column
	domains  [][]string
}

// piece is text of a template, followed by the words of a column; column is -1 at the end.
type piece struct {
	before string
	column int
	form   string
}

// Wording returns the wording of the schema. Building it takes a moment: keep it for many
// rows. For a schema that fails its check it does what it can.
func (s Schema) Wording() *Wording {
	s = s.WithDefaults()
	pieces, _ := s.parseTemplate()
	w := &Wording{pieces: pieces, question: s.Question, label: s.LabelColumn(), columns: s.Columns}
	for _, c := range s.Columns {
		w.domains = append(w.domains, c.Domain())
	}
	return w
}

// Text returns a row in words: the template, then the question. The label is not in it.
func (s Schema) Text(r Row) string { return s.Wording().Text(r) }

// Answer returns the label of a row in words.
func (s Schema) Answer(r Row) string { return s.Wording().Answer(r) }

// unsaid stands for a value that the row lacks or the schema does not know.
const unsaid = "unknown"

// Text returns a row in words: the template, then the question. The label is not in it.
func (w *Wording) Text(r Row) string {
	var b strings.Builder
	for _, p := range w.pieces {
		b.WriteString(p.before)
		if p.column >= 0 {
			b.WriteString(w.value(r, p.column, p.form))
		}
	}
	b.WriteByte(' ')
	b.WriteString(w.question)
	return oneLine(b.String()) // phrases may be empty
}

// Answer returns the label of a row in words.
func (w *Wording) Answer(r Row) string {
	if w.label < 0 || w.label >= len(r) {
		return unsaid
	}
	v, c := r[w.label], w.columns[w.label]
	if !v.Discrete && len(c.Edges) > 0 {
		v = Value{Code: int(place(v.Number, c.Edges)), Discrete: true}
	}
	return w.say(v, w.label, "")
}

func (w *Wording) value(r Row, column int, form string) string {
	if column >= len(r) {
		return unsaid
	}
	return w.say(r[column], column, form)
}

func (w *Wording) say(v Value, column int, form string) string {
	c := w.columns[column]
	if !v.Discrete {
		return c.Show(v.Number)
	}
	if v.Code < 0 || v.Code >= len(w.domains[column]) {
		return unsaid
	}
	value := w.domains[column][v.Code]
	if form != "" {
		return c.Forms[form][value]
	}
	return c.phrase(value)
}

// parseTemplate reads {column} and {column.form}; braces that are meant are written twice.
func (s Schema) parseTemplate() ([]piece, error) {
	var pieces []piece
	after, err := document.Template(s.Template, func(before, name string) error {
		p, err := s.placeholder(name)
		if err != nil {
			return err
		}
		p.before = before
		pieces = append(pieces, p)
		return nil
	})
	if err != nil {
		return pieces, err
	}
	return append(pieces, piece{before: after, column: -1}), nil
}

// placeholder resolves a name between braces. A column may have a point in its own name.
func (s Schema) placeholder(name string) (piece, error) {
	if i, ok := s.Column(name); ok {
		return piece{column: i}, nil
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		if i, ok := s.Column(name[:dot]); ok {
			form := name[dot+1:]
			if _, ok := s.Columns[i].Forms[form]; ok {
				return piece{column: i, form: form}, nil
			}
			return piece{}, fmt.Errorf("column %q has no form %q", document.Shorten(name[:dot]), document.Shorten(form))
		}
	}
	return piece{}, &strayError{name}
}

// strayError reports a placeholder that names no column.
type strayError struct{ name string }

func (e *strayError) Error() string {
	return fmt.Sprintf("{%s} is no column", document.Shorten(e.name))
}
