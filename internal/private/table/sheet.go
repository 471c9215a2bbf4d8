package table

import (
	"slices"
	"sync"

	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// BatchRows is how many rows a batch has at most.
const BatchRows = 8192

// sheet is a batch that is being filled by one worker, and the rows of it that are refused.
type sheet struct {
	batch Batch
	p     *pass
	// why and where a row is refused first; where is -1 for the row as a whole.
	why     []Reason
	where   []int16
	refused int
}

func (p *pass) newSheet() *sheet {
	s := &sheet{p: p, why: make([]Reason, BatchRows), where: make([]int16, BatchRows)}
	for _, c := range p.columns {
		s.batch.Columns = append(s.batch.Columns, NewVector(c.e.codes, BatchRows))
	}
	if p.unit != nil {
		s.batch.Units = make([]Unit, BatchRows)
	}
	return s
}

// begin makes room for the rows of a batch.
func (s *sheet) begin(index, first int64, rows int) {
	s.batch.Index, s.batch.First = s.p.number(index, first, rows)
	s.batch.Cut(rows)
	if s.refused > 0 {
		clear(s.why)
		s.refused = 0
	}
}

// refuse notes why a row cannot be used; of several reasons, that of the first column.
func (s *sheet) refuse(row, column int, why Reason) {
	switch {
	case s.why[row] == 0:
		s.refused++
	case int(s.where[row]) <= column:
		return
	}
	s.why[row], s.where[row] = why, int16(column)
}

// finish hands the batch on, without the rows that are refused.
func (s *sheet) finish(worker int) error {
	if s.refused > 0 {
		s.report()
		s.compact()
	}
	if s.p.failing() || s.batch.Rows == 0 {
		return nil
	}
	return s.p.each(worker, &s.batch)
}

func (s *sheet) report() {
	var first []origin.Problem
	for row := 0; row < s.batch.Rows && len(first) < origin.MaxProblems; row++ {
		if s.why[row] != 0 {
			first = append(first, origin.Problem{Ordinal: s.batch.First + int64(row), Reason: s.why[row], Column: s.p.nameOf(int(s.where[row]))})
		}
	}
	s.p.tally.add(int64(s.refused), first)
}

func (s *sheet) compact() {
	kept := s.batch.Rows - s.refused
	for i := range s.batch.Columns {
		v := &s.batch.Columns[i]
		v.Codes, v.Steps = pack(v.Codes, s.why, kept), pack(v.Steps, s.why, kept)
	}
	s.batch.Units = pack(s.batch.Units, s.why, kept)
	s.batch.Rows = kept
}

// pack moves the values of the rows that stay to the front.
func pack[T any](values []T, why []Reason, kept int) []T {
	if values == nil {
		return nil
	}
	n := 0
	for row, v := range values {
		if why[row] == 0 {
			values[n] = v
			n++
		}
	}
	return values[:kept]
}

// target is a column of a pass.
type target struct {
	name string
	// at is its place in the schema.
	at int
	e  *Encoding
}

// pass is one scan of a source.
type pass struct {
	columns []target
	unit    *unitHash
	// unitName is the column of units.
	unitName string
	workers  int
	each     func(worker int, b *Batch) error
	progress func(read, total int64)
	onError  origin.OnError
	tally    tally
	numbers  numbers
}

// numbers continue from one file of a table to the next.
type numbers struct {
	mu sync.Mutex
	// batches and rows of the files before this one, and of these together with it.
	batches, rows         int64
	nextBatch, nextRecord int64
}

// number turns those of a batch and its first row in a file into those in the table.
func (p *pass) number(index, first int64, rows int) (int64, int64) {
	n := &p.numbers
	n.mu.Lock()
	defer n.mu.Unlock()
	index, first = index+n.batches, first+n.rows
	n.nextBatch, n.nextRecord = max(n.nextBatch, index+1), max(n.nextRecord, first-1+int64(rows))
	return index, first
}

// turn continues to the next file.
func (p *pass) turn() { p.numbers.batches, p.numbers.rows = p.numbers.nextBatch, p.numbers.nextRecord }

// failing reports that the scan will fail, so that nothing is to be computed from it.
func (p *pass) failing() bool { return p.onError == Fail && p.tally.any() }

// unitColumn is the place of the column of units, after those that are asked for.
func (p *pass) unitColumn() int { return len(p.columns) }

func (p *pass) nameOf(column int) string {
	switch {
	case column < 0:
		return ""
	case column == p.unitColumn():
		return p.unitName
	}
	return p.columns[column].name
}

// names returns the names of the columns, then of the units if there is one.
func (p *pass) names() []string {
	var out []string
	for _, c := range p.columns {
		out = append(out, c.name)
	}
	if p.unit != nil {
		out = append(out, p.unitName)
	}
	return out
}

// roles says for each column of a header which columns of the pass it is.
func (p *pass) roles(header []string) [][]int {
	roles := make([][]int, len(header))
	for i, name := range p.names() {
		if at := slices.Index(header, name); at >= 0 {
			roles[at] = append(roles[at], i)
		}
	}
	return roles
}

// text puts a text into a sheet, at a row and a column of the pass.
func (s *sheet) text(row, column int, text []byte) {
	if column == s.p.unitColumn() {
		var why Reason
		if s.batch.Units[row], why = s.p.unitOf(text); why != 0 {
			s.refuse(row, column, why)
		}
		return
	}
	if why := s.p.columns[column].e.Text(&s.batch.Columns[column], row, text); why != 0 {
		s.refuse(row, column, why)
	}
}

// null puts a missing value into a sheet.
func (s *sheet) null(row, column int) {
	if column == s.p.unitColumn() {
		s.refuse(row, column, UnitMissing)
		return
	}
	if why := s.p.columns[column].e.Null(&s.batch.Columns[column], row); why != 0 {
		s.refuse(row, column, why)
	}
}
