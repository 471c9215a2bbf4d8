package gguf

import (
	"fmt"
	"slices"
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

// known compares as unsigned numbers: as an int, a large one may be negative.
func (k Kind) known() bool { return k < Kind(len(kinds)) }

// String returns the name of the kind.
func (k Kind) String() string {
	if k.known() {
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
		if c.err == nil && (v.elem == Array || !v.elem.known()) {
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
	case !kind.known():
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

// alignment returns what the offsets of tensors are multiples of.
func (m *Metadata) alignment(c *cursor) int {
	if c.err != nil || !m.Has(alignmentKey) {
		return defaultAlignment
	}
	n, err := m.Uint(alignmentKey)
	at := m.values[alignmentKey].at
	switch {
	case err != nil:
		c.failAt(at, "%v", err)
	case !alignable(n):
		c.failAt(at, "%s is %d and should be a power of two from %d to %d",
			alignmentKey, n, minAlignment, maxAlignment)
	}
	if c.err != nil {
		return defaultAlignment
	}
	return int(n)
}

// Keys lists the keys in the order of the file.
func (m *Metadata) Keys() []string { return slices.Clone(m.keys) }

// Has reports whether there is a value for the key.
func (m *Metadata) Has(key string) bool {
	_, ok := m.values[key]
	return ok
}

// Kind returns the kind of a value, and of its elements where it is an array.
func (m *Metadata) Kind(key string) (kind, elem Kind, ok bool) {
	v, ok := m.values[key]
	return v.kind, v.elem, ok
}

// Len returns the number of elements of an array, 0 where the key has none.
func (m *Metadata) Len(key string) int { return m.values[key].count }
