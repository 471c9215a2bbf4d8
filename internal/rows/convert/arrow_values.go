package convert

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"
)

// Types of columns, by Arrow's numbers.
const (
	typeNull        = 1
	typeInt         = 2
	typeFloat       = 3
	typeBinary      = 4
	typeText        = 5
	typeBool        = 6
	typeDecimal     = 7
	typeDate        = 8
	typeTime        = 9
	typeTimestamp   = 10
	typeList        = 12
	typeStruct      = 13
	typeFixed       = 15
	typeFixedList   = 16
	typeMap         = 17
	typeDuration    = 18
	typeLargeBinary = 19
	typeLargeText   = 20
	typeLargeList   = 21
	typeBinaryView  = 23
	typeTextView    = 24
)

// column is the values of a column in a batch.
type column struct {
	f             *arrowField
	n             int
	valid         []byte // bits; nil: all are
	offsets, data []byte
	views         [][]byte // what long values of a view refer to
	children      []*column
	dictionary    *column
	parts         []*column // of a dictionary that came in pieces
	index         *column
	large         bool
}

func (c *column) list() []*column {
	if c.parts != nil {
		return slices.Clone(c.parts)
	}
	return []*column{c}
}

// column reads the next column.
func (l *layout) column(f *arrowField) (c *column, err error) {
	if f.dictionary != nil {
		index, err := l.column(f.index)
		if err != nil {
			return nil, err
		}
		values := l.a.dictionaries[*f.dictionary]
		if values == nil {
			values = &column{f: &arrowField{kind: typeNull}}
		}
		return &column{f: f, n: index.n, index: index, dictionary: values}, nil
	}
	c = &column{f: f, n: l.node()}
	if f.kind == typeNull {
		return c, nil
	}
	buffers := []*[]byte{&c.valid}
	switch f.kind {
	case typeText, typeBinary, typeLargeText, typeLargeBinary:
		buffers = append(buffers, &c.offsets, &c.data)
	case typeList, typeLargeList, typeMap:
		buffers = append(buffers, &c.offsets)
	case typeStruct, typeFixedList:
	default:
		buffers = append(buffers, &c.data)
	}
	c.large = f.kind == typeLargeText || f.kind == typeLargeBinary || f.kind == typeLargeList
	for _, b := range buffers {
		if *b, err = l.buffer(); err != nil {
			return nil, err
		}
	}
	if len(c.valid) == 0 {
		c.valid = nil
	}
	if c.offsets != nil {
		c.ordered()
	}
	if f.kind == typeTextView || f.kind == typeBinaryView {
		if l.nextVar >= l.variadicCount {
			panic("no such count")
		}
		more := l.batch.b.i64(l.variadic + 8*l.nextVar)
		l.nextVar++
		for range more {
			b, err := l.buffer()
			if err != nil {
				return nil, err
			}
			c.views = append(c.views, b)
		}
	}
	for _, child := range f.children {
		if f.kind != typeList && f.kind != typeLargeList && f.kind != typeMap && f.kind != typeStruct && f.kind != typeFixedList {
			panic("children of a value")
		}
		k, err := l.column(child)
		if err != nil {
			return nil, err
		}
		c.children = append(c.children, k)
	}
	return c, nil
}

// ordered panics unless values with offsets come one after the other, so that they do not hold
// more than the file does.
func (c *column) ordered() {
	last := 0
	for i := range c.n {
		from, to := c.bounds(i)
		if from < last || to < from {
			panic("values that overlap")
		}
		last = to
	}
}

// null reports whether a value is missing.
func (c *column) null(i int) bool {
	switch {
	case c.index != nil:
		return c.index.null(i)
	case c.f.kind == typeNull:
		return true
	case c.valid == nil:
		return false
	}
	return c.valid[i/8]>>(i%8)&1 == 0
}

// bounds are where a value of a column with offsets begins and ends.
func (c *column) bounds(i int) (from, to int) {
	if c.large {
		return int(int64(binary.LittleEndian.Uint64(c.offsets[8*i:]))), int(int64(binary.LittleEndian.Uint64(c.offsets[8*i+8:])))
	}
	return int(int32(binary.LittleEndian.Uint32(c.offsets[4*i:]))), int(int32(binary.LittleEndian.Uint32(c.offsets[4*i+4:])))
}

// bytes is a text or a binary value.
func (c *column) bytes(i int) []byte {
	switch c.f.kind {
	case typeTextView, typeBinaryView:
		v := c.data[16*i : 16*i+16]
		n := int(int32(binary.LittleEndian.Uint32(v)))
		if n <= 12 {
			return v[4 : 4+n]
		}
		at := int(int32(binary.LittleEndian.Uint32(v[12:])))
		return c.views[int(int32(binary.LittleEndian.Uint32(v[8:])))][at : at+n]
	case typeFixed:
		return c.data[i*c.f.width : (i+1)*c.f.width]
	}
	from, to := c.bounds(i)
	return c.data[from:to]
}

// whole is a whole number of the width of the column.
func (c *column) whole(i, bits int) int64 {
	switch bits {
	case 8:
		return int64(int8(c.data[i]))
	case 16:
		return int64(int16(binary.LittleEndian.Uint16(c.data[2*i:])))
	case 32:
		return int64(int32(binary.LittleEndian.Uint32(c.data[4*i:])))
	}
	return int64(binary.LittleEndian.Uint64(c.data[8*i:]))
}

// text appends a value as the cell of a row: nothing if it is missing.
func (c *column) text(out []byte, i int) []byte {
	if c.null(i) {
		return out
	}
	if c.index != nil {
		values, at := c.dictionary, c.index.place(i)
		for _, p := range values.list() {
			if at < p.n {
				return p.text(out, at)
			}
			at -= p.n
		}
		panic("no such value")
	}
	switch c.f.kind {
	case typeText, typeLargeText, typeTextView, typeBinary, typeLargeBinary, typeBinaryView, typeFixed:
		return append(out, c.bytes(i)...)
	case typeList, typeLargeList, typeMap, typeStruct, typeFixedList:
		return c.json(out, i, 0)
	case typeInt:
		if c.f.classes != nil {
			return c.class(out, i)
		}
		return c.number(out, i)
	}
	return c.number(out, i)
}

// place is a number that refers to a dictionary.
func (c *column) place(i int) int {
	x := c.whole(i, c.f.width)
	if !c.f.signed && c.f.width < 64 {
		x &= 1<<c.f.width - 1
	}
	if x < 0 || x > Largest {
		panic("no such value")
	}
	return int(x)
}

// class is the name of a class. One that has none is missing, as -1 is in Hugging Face datasets.
func (c *column) class(out []byte, i int) []byte {
	if n := c.whole(i, c.f.width); n >= 0 && n < int64(len(c.f.classes)) {
		return append(out, c.f.classes[n]...)
	}
	return out
}

// number appends a number, a truth value or a time.
func (c *column) number(out []byte, i int) []byte {
	switch c.f.kind {
	case typeBool:
		return strconv.AppendBool(out, c.data[i/8]>>(i%8)&1 == 1)
	case typeInt:
		x := c.whole(i, c.f.width)
		if c.f.signed {
			return strconv.AppendInt(out, x, 10)
		}
		if c.f.width < 64 {
			x &= 1<<c.f.width - 1
		}
		return strconv.AppendUint(out, uint64(x), 10)
	case typeFloat:
		x, bits := 0.0, c.f.width
		switch bits {
		case 16:
			x, bits = half(binary.LittleEndian.Uint16(c.data[2*i:])), 32
		case 32:
			x = float64(math.Float32frombits(binary.LittleEndian.Uint32(c.data[4*i:])))
		default:
			x = math.Float64frombits(binary.LittleEndian.Uint64(c.data[8*i:]))
		}
		if math.IsNaN(x) {
			return out
		}
		return append(out, Number(strconv.AppendFloat(nil, x, 'g', -1, bits))...)
	case typeDecimal:
		return c.decimal(out, i)
	case typeDate:
		if c.f.unit == 0 { // days
			return time.Unix(c.whole(i, 32)*24*60*60, 0).UTC().AppendFormat(out, time.DateOnly)
		}
		return time.UnixMilli(c.whole(i, 64)).UTC().AppendFormat(out, time.DateOnly)
	case typeTimestamp:
		return instant(c.whole(i, 64), c.f.unit).AppendFormat(out, "2006-01-02T15:04:05.999999999")
	case typeTime:
		return instant(c.whole(i, c.f.width), c.f.unit).AppendFormat(out, "15:04:05.999999999")
	case typeDuration:
		return strconv.AppendInt(out, c.whole(i, 64), 10)
	}
	panic("no such type")
}

// instant is a time as so many units since 1970.
func instant(x int64, unit int) time.Time {
	switch unit {
	case 0:
		return time.Unix(x, 0).UTC()
	case 1:
		return time.UnixMilli(x).UTC()
	case 2:
		return time.UnixMicro(x).UTC()
	}
	return time.Unix(0, x).UTC()
}

// half is a number of 16 bits.
func half(b uint16) float64 {
	sign, exponent, fraction := 1-2*float64(b>>15), int(b>>10&31), float64(b&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction == 0 {
			return math.Inf(int(sign))
		}
		return math.NaN()
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// decimal appends a whole number of a power of ten.
func (c *column) decimal(out []byte, i int) []byte {
	size := c.f.width / 8
	if size < 4 || size > 32 {
		panic("no such decimal")
	}
	raw := slices.Clone(c.data[i*size : (i+1)*size])
	slices.Reverse(raw)
	x := new(big.Int).SetBytes(raw)
	if raw[0]&0x80 != 0 { // two's complement
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	out = x.Append(out, 10)
	if c.f.scale == 0 {
		return out
	}
	return strconv.AppendInt(append(out, 'e'), -int64(c.f.scale), 10)
}

// json appends a value within a list or a struct.
func (c *column) json(out []byte, i, depth int) []byte {
	if c.null(i) {
		return append(out, "null"...)
	}
	if depth > maxNested+1 {
		panic("too deep")
	}
	elements := func(from, to int) []byte {
		if from < 0 || to < from || to > c.children[0].n || to-from > maxEmpty && c.children[0].f.costless() {
			panic("no such elements")
		}
		out = append(out, '[')
		for j := from; j < to; j++ {
			if j > from {
				out = append(out, ',')
			}
			if out = c.children[0].json(out, j, depth+1); len(out) > maxCell {
				panic("too large")
			}
		}
		return append(out, ']')
	}
	switch {
	case c.index != nil:
		return append(out, quoted(string(c.text(nil, i)))...)
	case c.f.kind == typeList || c.f.kind == typeLargeList || c.f.kind == typeMap:
		return elements(c.bounds(i))
	case c.f.kind == typeFixedList:
		return elements(i*c.f.width, (i+1)*c.f.width)
	case c.f.kind == typeStruct:
		out = append(out, '{')
		for j, k := range c.children {
			if j > 0 {
				out = append(out, ',')
			}
			out = append(append(out, quoted(k.f.name)...), ':')
			out = k.json(out, i, depth+1)
		}
		return append(out, '}')
	case c.f.kind == typeText || c.f.kind == typeLargeText || c.f.kind == typeTextView:
		return append(out, quoted(string(c.bytes(i)))...)
	case c.f.kind == typeBinary || c.f.kind == typeLargeBinary || c.f.kind == typeBinaryView || c.f.kind == typeFixed:
		return append(out, quoted(base64.StdEncoding.EncodeToString(c.bytes(i)))...)
	}
	text := c.number(nil, i)
	if !json.Valid(text) { // a time, or an infinite number
		text = quoted(string(text))
	}
	return append(out, text...)
}
