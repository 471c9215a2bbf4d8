package tabletest

import (
	"math"
	"slices"
	"strconv"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/schema"
)

// row is an encoded row: codes and steps.
type row []int32

// encode is the reference: a value by the rules of the schema. Sources of texts alone (CSV)
// see every value as its text.
func encode(c schema.Column, e *schema.Encoder, discrete bool, v any, asText bool) (int32, schema.Outcome) {
	if asText {
		v = Literal(v)
	}
	if c.Kind == schema.Categorical {
		code, o := encodeText(e, v)
		return int32(code), o
	}
	x, o := encodeNumber(e, v, len(c.Aliases) > 0)
	if o != schema.OK {
		return 0, o
	}
	if discrete && c.Discrete() {
		place := int32(0)
		for _, edge := range c.Edges {
			if x >= edge {
				place++
			}
		}
		return place, schema.OK
	}
	return table.NewScale(c).Steps(x), schema.OK
}

func encodeText(e *schema.Encoder, v any) (uint16, schema.Outcome) {
	switch v := v.(type) {
	case nil:
		return e.CodeMissing()
	case string:
		return e.Code(v)
	case int64:
		return e.Code(strconv.FormatInt(v, 10))
	case float64:
		return e.CodeNumber(v)
	case bool:
		return e.Code(strconv.FormatBool(v))
	}
	return 0, schema.Outside
}

func encodeNumber(e *schema.Encoder, v any, aliases bool) (float64, schema.Outcome) {
	x := math.NaN()
	switch v := v.(type) {
	case string:
		return e.Number(v)
	case bool:
		return e.Number(strconv.FormatBool(v))
	case int64:
		x = float64(v)
	case float64:
		x = v
	}
	if aliases && !math.IsNaN(x) && !math.IsInf(x, 0) {
		return e.Number(strconv.FormatFloat(x+0, 'f', -1, 64))
	}
	return e.Clamped(x)
}

// expected are the rows that stay, and the ordinals of those that are refused.
func expected(t Table, s schema.Schema, columns []int, discrete, asText bool) (rows []row, refused []int64) {
	encoders := make([]*schema.Encoder, len(s.Columns))
	for i, c := range s.Columns {
		encoders[i] = c.Encoder()
	}
	for n, values := range t.Rows {
		r, ok := row{}, true
		for _, i := range columns {
			at := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == s.Columns[i].Name })
			code, o := encode(s.Columns[i], encoders[i], discrete, values[at], asText)
			if o != schema.OK {
				ok = false
				break
			}
			r = append(r, code)
		}
		if !ok {
			refused = append(refused, int64(n+1))
		} else {
			rows = append(rows, r)
		}
	}
	return rows, refused
}

// total adds rows up by a layout, row by row. Columns are as in a row.
func total(l table.Layout, columns []int, rows []row) []int64 {
	cells := make([]int64, l.Groups()*l.Cells())
	at := func(r row, column int) int32 { return r[slices.Index(columns, column)] }
	for _, r := range rows {
		group := 0
		for _, p := range l.By {
			code := int(at(r, p.Column))
			if p.Cuts != nil {
				code = below(p.Cuts, at(r, p.Column))
			}
			if p.Class != nil {
				code = int(p.Class[code])
			}
			group = group*p.Classes + code
		}
		base := group * l.Cells()
		cells[base]++
		base++
		for _, c := range l.Sums {
			cells[base] += int64(at(r, c))
			base++
		}
		for _, c := range l.Squares {
			cells[base] += table.Square(at(r, c))
			base++
		}
		for _, h := range l.Histograms {
			place := int(at(r, h.Column))
			switch {
			case h.Grid:
				place = table.GridCell(at(r, h.Column), h.Cells)
			case h.Edges != nil:
				place = below(h.Edges, at(r, h.Column))
			}
			cells[base+place]++
			base += h.Cells
		}
	}
	return cells
}

func below(cuts []int32, x int32) int {
	n := 0
	for _, c := range cuts {
		if c <= x {
			n++
		}
	}
	return n
}

// layout makes up what to add up.
func (r random) layout(s schema.Schema, discrete bool) table.Layout {
	var l table.Layout
	for i, c := range s.Columns {
		if c.Kind == schema.Categorical || discrete && c.Discrete() {
			n := len(c.Domain())
			switch r.n(4) {
			case 0:
				l.By = append(l.By, table.Partition{Column: i, Classes: n})
			case 1:
				class := make([]uint16, n)
				for j := range class {
					class[j] = uint16(r.n(2))
				}
				l.By = append(l.By, table.Partition{Column: i, Classes: 2, Class: class})
			case 2:
				l.Histograms = append(l.Histograms, table.Histogram{Column: i, Cells: n})
			}
			continue
		}
		cuts := []int32{-table.Steps / 2, 0, 1, table.Steps}
		switch r.n(5) {
		case 0:
			l.By = append(l.By, table.Partition{Column: i, Classes: 5, Cuts: cuts})
		case 1:
			l.Histograms = append(l.Histograms, table.Histogram{Column: i, Cells: 7, Grid: true})
		case 2:
			l.Histograms = append(l.Histograms, table.Histogram{Column: i, Cells: 5, Edges: cuts})
		}
		if r.n(2) == 0 {
			l.Sums = append(l.Sums, i)
		}
		if r.n(3) == 0 {
			l.Squares = append(l.Squares, i)
		}
	}
	return l
}
