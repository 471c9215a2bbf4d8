package ui

import (
	"strings"
	"unicode/utf8"
)

// Table is rows under a heading. The last column may be long and is folded.
type Table struct {
	// Paint gives the colour of a cell, empty for none.
	Paint func(row, column int) string

	head    []string
	numeric []bool
	rows    [][]string
}

// NewTable makes a table. Columns whose name begins with # are aligned on the right.
func NewTable(columns ...string) *Table {
	t := &Table{}
	t.Column(columns...)
	return t
}

// Column adds columns, before there are rows.
func (t *Table) Column(names ...string) {
	for _, name := range names {
		text, numeric := strings.CutPrefix(name, "#")
		t.head, t.numeric = append(t.head, text), append(t.numeric, numeric)
	}
}

// Columns returns the names of the columns.
func (t *Table) Columns() []string { return t.head }

// Add adds a row. A cell is one line, whatever is in it.
func (t *Table) Add(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = line(c)
	}
	t.rows = append(t.rows, row)
}

// Empty reports whether there are no rows.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// Table prints a table.
func (p *Page) Table(t *Table) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	last := len(t.head) - 1
	used := 2
	for _, w := range widths[:last] {
		used += w + 2
	}
	cell := func(i int, s string) string {
		switch {
		case t.numeric[i]:
			return strings.Repeat(" ", widths[i]-utf8.RuneCountInString(s)) + s
		case i == last:
			return s
		}
		return Pad(s, widths[i])
	}
	print := func(row []string, colour func(int) string) {
		for k, part := range Fold(row[last], max(20, Width-used)) {
			var b strings.Builder
			for i := range row {
				s := ""
				if i == last {
					s = part
				} else if k == 0 {
					s = row[i]
				}
				b.WriteString("  " + p.Paint(colour(i), cell(i, s)))
			}
			p.Line("%s", strings.TrimRight(b.String(), " "))
		}
	}
	print(t.head, func(int) string { return Bold })
	for r, row := range t.rows {
		print(row, func(i int) string {
			if t.Paint == nil {
				return ""
			}
			return t.Paint(r, i)
		})
	}
}
