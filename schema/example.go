package schema

// Example is a made-up row: the middle of every column. No data has a part in it.
func (s Schema) Example() Row {
	r := make(Row, len(s.Columns))
	for i, c := range s.Columns {
		middle := c.Low + (c.High-c.Low)/2
		switch {
		case c.Kind == Numeric && len(c.Edges) > 0:
			r[i] = Value{Code: int(place(middle, c.Edges)), Number: middle, Discrete: true}
		case c.Kind == Numeric:
			r[i] = Value{Number: middle}
		default:
			r[i] = Value{Code: len(c.Domain()) / 2, Discrete: true}
		}
	}
	return r
}
