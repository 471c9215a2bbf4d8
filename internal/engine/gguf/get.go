package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// find returns a value and its bytes, or an error that says what it should be.
func (m *Metadata) find(key, want string, right func(value) bool) (value, []byte, error) {
	v, ok := m.values[key]
	switch {
	case !ok:
		return v, nil, &KeyError{Key: key, What: "is missing"}
	case m.data == nil:
		return v, nil, ErrClosed
	case !right(v):
		is := fmt.Sprintf("a value of kind %v", v.kind)
		if v.kind == Array {
			is = fmt.Sprintf("an array of %d %v", v.count, v.elem)
		}
		return v, nil, &KeyError{Key: key, What: fmt.Sprintf("is %s, and should be %s", is, want)}
	}
	return v, m.data[v.start:v.end], nil
}

// String returns a string, which need not be valid UTF-8.
func (m *Metadata) String(key string) (string, error) {
	_, b, err := m.find(key, "a string", func(v value) bool { return v.kind == String })
	if err != nil {
		return "", err
	}
	return string(b[8:]), nil
}

// Bool returns a boolean.
func (m *Metadata) Bool(key string) (bool, error) {
	_, b, err := m.find(key, "a boolean", func(v value) bool { return v.kind == Bool })
	return err == nil && b[0] == 1, err
}

// Uint returns an integer of any kind that is not negative.
func (m *Metadata) Uint(key string) (uint64, error) {
	v, b, err := m.find(key, "an integer", func(v value) bool { return v.kind.integer() })
	if err != nil {
		return 0, err
	}
	n, negative := integer(v.kind, b)
	if negative {
		return 0, &KeyError{Key: key, What: fmt.Sprintf("is %d, and should not be negative", int64(n))}
	}
	return n, nil
}

// Float returns a number of any kind.
func (m *Metadata) Float(key string) (float64, error) {
	v, b, err := m.find(key, "a number", func(v value) bool { return v.kind.integer() || v.kind.float() })
	if err != nil {
		return 0, err
	}
	if v.kind.float() {
		return float(v.kind, b), nil
	}
	n, negative := integer(v.kind, b)
	if negative {
		return float64(int64(n)), nil
	}
	return float64(n), nil
}

// Strings returns an array of strings. All share one piece of memory.
func (m *Metadata) Strings(key string) ([]string, error) {
	v, b, err := m.find(key, "an array of strings", func(v value) bool { return v.kind == Array && v.elem == String })
	if err != nil {
		return nil, err
	}
	c := &cursor{data: b}
	var all strings.Builder
	all.Grow(len(b) - 8*v.count)
	ends := make([]int, v.count)
	for i := range ends {
		all.Write(c.bytes("a string"))
		ends[i] = all.Len()
	}
	if c.err != nil {
		return nil, c.err
	}
	text := all.String()
	out := make([]string, v.count)
	from := 0
	for i, to := range ends {
		out[i] = text[from:to]
		from = to
	}
	return out, nil
}

// Floats returns an array of float32 or float64 numbers, as float32.
func (m *Metadata) Floats(key string) ([]float32, error) {
	v, b, err := m.find(key, "an array of floating-point numbers", func(v value) bool { return v.kind == Array && v.elem.float() })
	if err != nil {
		return nil, err
	}
	size := kinds[v.elem].size
	out := make([]float32, v.count)
	for i := range out {
		out[i] = float32(float(v.elem, b[i*size:]))
	}
	return out, nil
}

// Ints returns an array of integers of any kind.
func (m *Metadata) Ints(key string) ([]int64, error) {
	v, b, err := m.find(key, "an array of integers", func(v value) bool { return v.kind == Array && v.elem.integer() })
	if err != nil {
		return nil, err
	}
	size := kinds[v.elem].size
	out := make([]int64, v.count)
	for i := range out {
		n, negative := integer(v.elem, b[i*size:])
		if !negative && n > math.MaxInt64 {
			return nil, &KeyError{Key: key, What: fmt.Sprintf("has an element %d, which is too large", n)}
		}
		out[i] = int64(n)
	}
	return out, nil
}

// Bools returns an array of booleans.
func (m *Metadata) Bools(key string) ([]bool, error) {
	v, b, err := m.find(key, "an array of booleans", func(v value) bool { return v.kind == Array && v.elem == Bool })
	if err != nil {
		return nil, err
	}
	out := make([]bool, v.count)
	for i := range out {
		out[i] = b[i] == 1
	}
	return out, nil
}

func (k Kind) integer() bool {
	switch k {
	case Uint8, Int8, Uint16, Int16, Uint32, Int32, Uint64, Int64:
		return true
	}
	return false
}

func (k Kind) float() bool { return k == Float32 || k == Float64 }

// integer reads an integer of some kind as 64 bits of two's complement.
func integer(kind Kind, b []byte) (n uint64, negative bool) {
	var i int64
	switch kind {
	case Uint8:
		return uint64(b[0]), false
	case Uint16:
		return uint64(binary.LittleEndian.Uint16(b)), false
	case Uint32:
		return uint64(binary.LittleEndian.Uint32(b)), false
	case Uint64:
		return binary.LittleEndian.Uint64(b), false
	case Int8:
		i = int64(int8(b[0]))
	case Int16:
		i = int64(int16(binary.LittleEndian.Uint16(b)))
	case Int32:
		i = int64(int32(binary.LittleEndian.Uint32(b)))
	case Int64:
		i = int64(binary.LittleEndian.Uint64(b))
	}
	return uint64(i), i < 0
}

func float(kind Kind, b []byte) float64 {
	if kind == Float32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}
