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

// columns are some of a schema, in order; not nil, which means all to Scan.
func (r random) columns(s schema.Schema) []int {
	out := []int{}
	for i := range s.Columns {
		if r.n(3) > 0 {
			out = append(out, i)
		}
	}
	return out
}
