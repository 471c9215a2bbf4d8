package table

// Steps is how many steps a number can be away from the middle of its bounds: a row moves
// the sum of a column by at most this much. Sums of up to 2^31 rows stay within ±2^61.
const Steps = 1 << 30

// Batch is some rows of a table, in order.
type Batch struct {
	// Index is the number of the batch in its source, from 0. A source is cut into the
	// same batches anyone who reads it and on however many threads.
	Index int64
	// Rows is how many there are; First the ordinal of the first, from 1.
	Rows  int
	First int64
	// Columns are those that were asked for, in that order.
	Columns []Vector
	// Units is a keyed hash of each row's unit of privacy; nil if rows are units.
	Units []Unit
}

// Vector is a column of a batch: Codes if it is read as a discrete one, and otherwise
// Steps from the middle of the bounds.
type Vector struct {
	Codes []uint16
	Steps []int32
}

// NewVector returns a column of so many rows.
func NewVector(codes bool, rows int) Vector {
	if codes {
		return Vector{Codes: make([]uint16, rows)}
	}
	return Vector{Steps: make([]int32, rows)}
}

// At returns the code or the steps of a row.
func (v Vector) At(row int) int32 {
	if v.Codes != nil {
		return int32(v.Codes[row])
	}
	return v.Steps[row]
}

// Set puts a code or steps into a row.
func (v Vector) Set(row int, x int32) {
	if v.Codes != nil {
		v.Codes[row] = uint16(x)
	} else {
		v.Steps[row] = x
	}
}

// Cut sets how many rows there are, of those that there is room for.
func (b *Batch) Cut(rows int) {
	b.Rows = rows
	for i := range b.Columns {
		if v := &b.Columns[i]; v.Codes != nil {
			v.Codes = v.Codes[:rows]
		} else {
			v.Steps = v.Steps[:rows]
		}
	}
	if b.Units != nil {
		b.Units = b.Units[:rows]
	}
}
