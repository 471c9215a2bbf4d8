package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind is the type of a metadata value, by GGUF's number.
type Kind uint32

// The kinds of metadata values.
const (
	Uint8 Kind = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
)

var kinds = [...]struct {
	name string
	size int // bytes of a value, 0 where that varies
}{
	{"uint8", 1},
	{"int8", 1},
	{"uint16", 2},
	{"int16", 2},
	{"uint32", 4},
	{"int32", 4},
	{"float32", 4},
	{"bool", 1},
	{"string", 0},
	{"array", 0},
	{"uint64", 8},
	{"int64", 8},
	{"float64", 8},
}

// String is the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k].name
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

// Metadata is the keys and values of a file. Getters copy, so that what they
// return outlives the file.
type Metadata struct {
	data   []byte // of the whole file
	keys   []string
	values map[string]value
}

// value is where a metadata value lies in the file. An array has count elements of
// kind elem; start is after its length.
type value struct {
	kind, elem Kind
	count      int
	at         int // of the kind
	start, end int
}

func (m *Metadata) read(c *cursor, count int) {
	m.data = c.data
	m.values = map[string]value{}
	for range count {
		at := c.pos
		key := string(c.bytes("a metadata key"))
		v := readValue(c, key)
		if c.err != nil {
			return
		}
		if m.Has(key) {
			c.failAt(at, "there are two metadata entries for %s", quote(key))
			return
		}
		m.keys = append(m.keys, key)
		m.values[key] = v
	}
}

func readValue(c *cursor, key string) value {
	v := value{at: c.pos}
	v.kind = Kind(c.uint32("the kind of a metadata value"))
	v.start = c.pos
	what := "the value of " + quote(key)
	if v.kind == Array {
		at := c.pos
		v.elem = Kind(c.uint32("the kind of an array's elements"))
		if c.err == nil && (v.elem == Array || int(v.elem) >= len(kinds)) {
			c.failAt(at, "%s is an array of %v: arrays of numbers, booleans and strings are possible", what, v.elem)
			return v
		}
		if c.err != nil {
			return v
		}
		// A string takes at least its length.
		size := max(kinds[v.elem].size, 1)
		if v.elem == String {
			size = 8
		}
		v.count = c.count("elements of "+what, size)
		v.start = c.pos
		skip(c, v.elem, v.count, what)
	} else {
		skip(c, v.kind, 1, what)
	}
	v.end = c.pos
	return v
}

// skip goes past count values of a kind other than an array.
func skip(c *cursor, kind Kind, count int, what string) {
	switch {
	case c.err != nil:
	case int(kind) >= len(kinds):
		c.failAt(c.pos-4, "%s is of an unknown %v", what, kind)
	case kind == String:
		for i := 0; i < count && c.err == nil; i++ {
			c.bytes(what)
		}
	case kind == Bool:
		at := c.pos
		for i, b := range c.take(uint64(count), what) {
			if b > 1 {
				c.failAt(at+i, "%s is %d and should be a boolean, 0 or 1", what, b)
				return
			}
		}
	default:
		c.take(uint64(count)*uint64(kinds[kind].size), what)
	}
}

// alignment is what the offsets of tensors are multiples of.
func (m *Metadata) alignment(c *cursor) int {
	if c.err != nil || !m.Has(alignmentKey) {
		return defaultAlignment
	}
	n, err := m.Uint(alignmentKey)
	at := m.values[alignmentKey].at
	switch {
	case err != nil:
		c.failAt(at, "%v", err)
	case n < 8 || n > largestAlignment || n&(n-1) != 0:
		c.failAt(at, "%s is %d and should be a power of two from 8 to %d", alignmentKey, n, largestAlignment)
	}
	if c.err != nil {
		return defaultAlignment
	}
	return int(n)
}

// Keys lists the keys in the order of the file.
func (m *Metadata) Keys() []string { return slices.Clone(m.keys) }

// Has says whether there is a value for the key.
func (m *Metadata) Has(key string) bool {
	_, ok := m.values[key]
	return ok
}

// Kind is the kind of a value, and of its elements where it is an array.
func (m *Metadata) Kind(key string) (kind, elem Kind, ok bool) {
	v, ok := m.values[key]
	return v.kind, v.elem, ok
}

// Len is the number of elements of an array, 0 where the key has none.
func (m *Metadata) Len(key string) int { return m.values[key].count }

// find returns a value and its bytes.
func (m *Metadata) find(key string) (value, []byte, error) {
	v, ok := m.values[key]
	switch {
	case !ok:
		return v, nil, &KeyError{Key: key, What: "is missing"}
	case m.data == nil:
		return v, nil, ErrClosed
	}
	return v, m.data[v.start:v.end], nil
}

func (v value) describe() string {
	if v.kind == Array {
		return fmt.Sprintf("an array of %d %v", v.count, v.elem)
	}
	return fmt.Sprintf("a value of kind %v", v.kind)
}

func wrongKind(key string, v value, want string) error {
	return &KeyError{Key: key, What: fmt.Sprintf("is %s, and should be %s", v.describe(), want)}
}

// String returns a string, which need not be valid UTF-8.
func (m *Metadata) String(key string) (string, error) {
	v, b, err := m.find(key)
	if err != nil {
		return "", err
	}
	if v.kind != String {
		return "", wrongKind(key, v, "a string")
	}
	return string(b[8:]), nil
}

// Bool returns a boolean.
func (m *Metadata) Bool(key string) (bool, error) {
	v, b, err := m.find(key)
	if err != nil {
		return false, err
	}
	if v.kind != Bool {
		return false, wrongKind(key, v, "a boolean")
	}
	return b[0] == 1, nil
}

// Uint returns an integer of any kind that is not negative.
func (m *Metadata) Uint(key string) (uint64, error) {
	v, b, err := m.find(key)
	if err != nil {
		return 0, err
	}
	n, negative, ok := integer(v.kind, b)
	switch {
	case !ok:
		return 0, wrongKind(key, v, "an integer")
	case negative:
		return 0, &KeyError{Key: key, What: fmt.Sprintf("is %d, and should not be negative", int64(n))}
	}
	return n, nil
}

// Float returns a number of any kind.
func (m *Metadata) Float(key string) (float64, error) {
	v, b, err := m.find(key)
	if err != nil {
		return 0, err
	}
	switch v.kind {
	case Float32, Float64:
		return float(v.kind, b), nil
	}
	n, negative, ok := integer(v.kind, b)
	switch {
	case !ok:
		return 0, wrongKind(key, v, "a number")
	case negative:
		return float64(int64(n)), nil
	}
	return float64(n), nil
}

// Strings returns an array of strings. All share one piece of memory.
func (m *Metadata) Strings(key string) ([]string, error) {
	v, b, err := m.find(key)
	if err != nil {
		return nil, err
	}
	if v.kind != Array || v.elem != String {
		return nil, wrongKind(key, v, "an array of strings")
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
	v, b, err := m.find(key)
	if err != nil {
		return nil, err
	}
	if v.kind != Array || v.elem != Float32 && v.elem != Float64 {
		return nil, wrongKind(key, v, "an array of floating-point numbers")
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
	v, b, err := m.find(key)
	if err != nil {
		return nil, err
	}
	if v.kind != Array || !v.elem.integer() {
		return nil, wrongKind(key, v, "an array of integers")
	}
	size := kinds[v.elem].size
	out := make([]int64, v.count)
	for i := range out {
		n, negative, _ := integer(v.elem, b[i*size:])
		if !negative && n > math.MaxInt64 {
			return nil, &KeyError{Key: key, What: fmt.Sprintf("has an element %d, which is too large", n)}
		}
		out[i] = int64(n)
	}
	return out, nil
}

// Bools returns an array of booleans.
func (m *Metadata) Bools(key string) ([]bool, error) {
	v, b, err := m.find(key)
	if err != nil {
		return nil, err
	}
	if v.kind != Array || v.elem != Bool {
		return nil, wrongKind(key, v, "an array of booleans")
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

// integer reads an integer of some kind as 64 bits of two's complement.
func integer(kind Kind, b []byte) (n uint64, negative, ok bool) {
	var i int64
	switch kind {
	case Uint8:
		return uint64(b[0]), false, true
	case Uint16:
		return uint64(binary.LittleEndian.Uint16(b)), false, true
	case Uint32:
		return uint64(binary.LittleEndian.Uint32(b)), false, true
	case Uint64:
		return binary.LittleEndian.Uint64(b), false, true
	case Int8:
		i = int64(int8(b[0]))
	case Int16:
		i = int64(int16(binary.LittleEndian.Uint16(b)))
	case Int32:
		i = int64(int32(binary.LittleEndian.Uint32(b)))
	case Int64:
		i = int64(binary.LittleEndian.Uint64(b))
	default:
		return 0, false, false
	}
	return uint64(i), i < 0, true
}

func float(kind Kind, b []byte) float64 {
	if kind == Float32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}
