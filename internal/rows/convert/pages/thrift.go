package pages

import "encoding/binary"

// walker goes over a structure in Thrift's compact protocol, without memory for it. A list
// may not claim more elements than there are bytes for: of structures, which take some
// hundred bytes each once decoded, at least three bytes each, as the smallest has.
type walker struct {
	data []byte
	at   int
}

// Types of the compact protocol.
const (
	isTrue   = 1
	isFalse  = 2
	isByte   = 3
	isI16    = 4
	isI32    = 5
	isI64    = 6
	isDouble = 7
	isBinary = 8
	isList   = 9
	isSet    = 10
	isMap    = 11
	isStruct = 12
)

// deepest is how deep structures may be nested.
const deepest = 24

// structure goes past one, and reports whether it is there in full.
func (w *walker) structure(depth int) bool {
	if depth > deepest {
		return false
	}
	for {
		head, ok := w.byte()
		if !ok {
			return false
		}
		if head == 0 {
			return true
		}
		if head>>4 == 0 { // the field's number follows
			if _, ok := w.varint(); !ok {
				return false
			}
		}
		if kind := head & 0xf; kind != isTrue && kind != isFalse && !w.value(kind, depth+1) {
			return false
		}
	}
}

// value goes past one of a kind.
func (w *walker) value(kind byte, depth int) bool {
	switch kind {
	case isTrue, isFalse, isByte:
		return w.skip(1)
	case isI16, isI32, isI64:
		_, ok := w.varint()
		return ok
	case isDouble:
		return w.skip(8)
	case isBinary:
		n, ok := w.varint()
		return ok && w.skip(n)
	case isList, isSet:
		return w.list(depth)
	case isMap:
		return w.pairs(depth)
	case isStruct:
		return w.structure(depth)
	}
	return false
}

func (w *walker) list(depth int) bool {
	head, ok := w.byte()
	if !ok || depth > deepest {
		return false
	}
	n, kind := uint64(head>>4), head&0xf
	if n == 15 {
		if n, ok = w.varint(); !ok {
			return false
		}
	}
	minimum := uint64(1)
	if kind == isStruct {
		minimum = 3
	}
	if n > w.left()/minimum {
		return false
	}
	start := w.at
	for range n {
		if !w.value(kind, depth+1) {
			return false
		}
	}
	return uint64(w.at-start) >= n*minimum
}

func (w *walker) pairs(depth int) bool {
	n, ok := w.varint()
	if !ok || n == 0 {
		return ok
	}
	kinds, ok := w.byte()
	if !ok || n > w.left()/2 || depth > deepest {
		return false
	}
	for range n {
		if !w.value(kinds>>4, depth+1) || !w.value(kinds&0xf, depth+1) {
			return false
		}
	}
	return true
}

func (w *walker) left() uint64 { return uint64(len(w.data) - w.at) }

func (w *walker) byte() (byte, bool) {
	if w.left() == 0 {
		return 0, false
	}
	w.at++
	return w.data[w.at-1], true
}

func (w *walker) varint() (uint64, bool) {
	v, n := binary.Uvarint(w.data[w.at:])
	if n <= 0 {
		return 0, false
	}
	w.at += n
	return v, true
}

func (w *walker) skip(n uint64) bool {
	if n > w.left() {
		return false
	}
	w.at += int(n)
	return true
}
