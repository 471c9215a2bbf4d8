package csvrows

import (
	"github.com/sotto-dp/sotto/internal/private/internal/origin"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
)

// Sketcher splits rows and gives them to a sketch. A flawed row leaves nothing to know it by.
type Sketcher struct {
	fields  Fields
	rows    *rowsketch.Rows
	columns []*rowsketch.Column
}

// NewSketcher returns a Sketcher for a file with a header. Without rows it splits only.
func NewSketcher(rows *rowsketch.Rows, h Head) *Sketcher {
	s := &Sketcher{rows: rows, fields: Fields{Comma: h.Comma}}
	if rows != nil {
		s.columns = rows.Columns(h.Names)
	}
	return s
}

// Each is [Fields.Each] of a row that the sketch is about; field may be nil.
func (s *Sketcher) Each(data []byte, row Row, field func(n int, text []byte)) origin.Reason {
	flaw := s.fields.Each(data, row, func(n int, text []byte) {
		if n < len(s.columns) {
			s.rows.Add(s.columns[n], text)
		}
		if field != nil {
			field(n, text)
		}
	})
	switch {
	case s.rows == nil:
	case flaw == 0:
		s.rows.Next()
	default:
		s.rows.Drop()
	}
	return flaw
}
