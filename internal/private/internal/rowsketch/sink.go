package rowsketch

import "github.com/sotto-dp/sotto/internal/rows"

// Sink gives the rows of a reader to a sketch. Names are those of the header, if there is one.
func (r *Rows) Sink(names []string) rows.Sink { return &sink{r, r.Columns(names)} }

type sink struct {
	rows    *Rows
	columns []*Column
}

func (s *sink) Cell(column int, name string, value []byte) {
	if column < 0 {
		s.rows.Add(s.rows.Column(name), value)
		return
	}
	s.rows.Add(s.columns[column], value)
}

func (s *sink) End(whole bool) {
	if whole {
		s.rows.Next()
	} else {
		s.rows.Drop()
	}
}
