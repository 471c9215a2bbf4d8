package convert

import (
	"encoding/binary"
	"math"
)

// flat is a FlatBuffers document, the form of Arrow's metadata. Its methods panic on places that
// are not there; calm makes an error of that.
type flat []byte

func (b flat) u16(at int) int { return int(binary.LittleEndian.Uint16(b[at:])) }
func (b flat) u32(at int) int { return int(binary.LittleEndian.Uint32(b[at:])) }
func (b flat) i64(at int) int64 {
	return int64(binary.LittleEndian.Uint64(b[at:]))
}

// node is a table in a document.
type node struct {
	b  flat
	at int
}

// root is the table that a document is about.
func (b flat) root() node { return node{b, b.u32(0)} }

// field returns where a field is, or 0.
func (n node) field(i int) int {
	table := n.at - int(int32(n.b.u32(n.at)))
	if slot := 4 + 2*i; slot < n.b.u16(table) {
		if offset := n.b.u16(table + slot); offset != 0 {
			return n.at + offset
		}
	}
	return 0
}

func (n node) long(i int, or int64) int64 {
	if at := n.field(i); at != 0 {
		return n.b.i64(at)
	}
	return or
}

func (n node) int(i, or int) int {
	if at := n.field(i); at != 0 {
		return int(int32(n.b.u32(at)))
	}
	return or
}

func (n node) short(i, or int) int {
	if at := n.field(i); at != 0 {
		return int(int16(n.b.u16(at)))
	}
	return or
}

func (n node) byte(i int) int {
	if at := n.field(i); at != 0 {
		return int(n.b[at])
	}
	return 0
}

// table returns the table that a field refers to; ok is false if there is none.
func (n node) table(i int) (t node, ok bool) {
	at := n.field(i)
	if at == 0 {
		return t, false
	}
	return node{n.b, at + n.b.u32(at)}, true
}

func (n node) string(i int) string {
	at := n.field(i)
	if at == 0 {
		return ""
	}
	at += n.b.u32(at)
	size := n.b.u32(at)
	return string(n.b[at+4 : at+4+size])
}

// list returns where the elements of a vector begin, and how many there are of a size.
func (n node) list(i, size int) (first, count int) {
	at := n.field(i)
	if at == 0 {
		return 0, 0
	}
	at += n.b.u32(at)
	count = n.b.u32(at)
	if count > math.MaxInt32 || at+4+count*size > len(n.b) {
		panic("a list that is longer than its document")
	}
	return at + 4, count
}

// tables are the elements of a vector of tables.
func (n node) tables(i int) []node {
	first, count := n.list(i, 4)
	out := make([]node, count)
	for j := range out {
		at := first + 4*j
		out[j] = node{n.b, at + n.b.u32(at)}
	}
	return out
}
