package gguf

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// ggml's tensors have at most this many dimensions.
const maxDims = 4

// Tensor is a named array of values in some storage format.
type Tensor struct {
	Name string
	// Dims is the shape in ggml's order: Dims[0] is the length of a row, whose
	// values lie side by side.
	Dims []uint64
	Type Type
	// Data is the stored bytes, row after row. It refers to the file, must not be
	// changed, and is nil where the type is not known (see [Tensor.Bytes]).
	Data []byte
}

// Bytes returns Data, or a [*TypeError] where the type is not known.
func (t Tensor) Bytes() ([]byte, error) {
	if !t.Type.Known() {
		return nil, &TypeError{Tensor: t.Name, Type: t.Type}
	}
	return t.Data, nil
}

// Cols returns the number of values in a row.
func (t Tensor) Cols() int {
	if len(t.Dims) == 0 {
		return 0
	}
	return int(t.Dims[0])
}

// Rows returns the number of rows: the product of all dimensions but the first.
func (t Tensor) Rows() int {
	if len(t.Dims) == 0 {
		return 0
	}
	rows := 1
	for _, d := range t.Dims[1:] {
		rows *= int(d)
	}
	return rows
}

// storedBytes returns the length of a tensor's data, for a known type.
func storedBytes(t Type, dims []uint64) (uint64, error) {
	n, err := values(dims)
	if err != nil {
		return 0, err
	}
	block := uint64(t.BlockSize())
	if dims[0]%block != 0 {
		return 0, fmt.Errorf("rows of %d values cannot be stored in the blocks of %d that %v has", dims[0], block, t)
	}
	hi, size := bits.Mul64(n/block, uint64(t.BlockBytes()))
	if hi != 0 || size > math.MaxInt64 {
		return 0, fmt.Errorf("%d values of %v are too large for a file", n, t)
	}
	return size, nil
}

// values returns the product of the dimensions, which must fit an int.
func values(dims []uint64) (uint64, error) {
	if len(dims) == 0 || len(dims) > maxDims {
		return 0, fmt.Errorf("%d dimensions: 1 to %d are possible", len(dims), maxDims)
	}
	n := uint64(1)
	for _, d := range dims {
		if d == 0 {
			return 0, fmt.Errorf("a dimension is 0")
		}
		hi, lo := bits.Mul64(n, d)
		if hi != 0 || lo > math.MaxInt {
			return 0, fmt.Errorf("the product of the dimensions %v is too large", dims)
		}
		n = lo
	}
	return n, nil
}

// info is a tensor as the header gives it: offset counts from the start of the
// data section, at is the byte of the entry.
type info struct {
	Tensor
	offset uint64
	size   uint64 // 0 for an unknown type
	at     int
}

func (f *File) readInfos(c *cursor, count int) []info {
	var infos []info
	for range count {
		t := readInfo(c)
		if c.err != nil {
			return nil
		}
		if _, ok := f.byName[t.Name]; ok {
			c.failAt(t.at, "there are two tensors with the name %s", quote(t.Name))
			return nil
		}
		f.byName[t.Name] = len(infos)
		infos = append(infos, t)
	}
	return infos
}

func readInfo(c *cursor) info {
	t := info{at: c.pos}
	t.Name = string(c.bytes("a tensor's name"))
	n := c.uint32("a tensor's number of dimensions")
	if c.err == nil && (n == 0 || n > maxDims) {
		c.failAt(t.at, "tensor %s has %d dimensions: 1 to %d are possible", quote(t.Name), n, maxDims)
	}
	if c.err != nil {
		return t
	}
	t.Dims = make([]uint64, n)
	for i := range t.Dims {
		t.Dims[i] = c.uint64("a tensor's dimension")
	}
	t.Type = Type(c.uint32("a tensor's type"))
	t.offset = c.uint64("a tensor's offset")
	if c.err != nil {
		return t
	}
	var err error
	if t.Type.Known() {
		t.size, err = storedBytes(t.Type, t.Dims)
	} else {
		_, err = values(t.Dims)
	}
	if err != nil {
		c.failAt(t.at, "tensor %s: %v", quote(t.Name), err)
	}
	return t
}

// place finds the data of the tensors, which starts at the first multiple of the
// alignment after the header, and refuses tensors outside it or over each other.
func (f *File) place(infos []info, header, alignment int) error {
	start := uint64(header+alignment-1) / uint64(alignment) * uint64(alignment)
	room := uint64(len(f.data)) - min(start, uint64(len(f.data)))
	f.tensors = make([]Tensor, len(infos))
	for i, t := range infos {
		switch {
		case t.offset%uint64(alignment) != 0:
			return t.refuse("its offset %d is not a multiple of the alignment %d", t.offset, alignment)
		case t.offset > room || max(t.size, 1) > room-t.offset:
			return t.refuse("its %d bytes at offset %d are not within the %d bytes of data: "+
				"the file was cut off or is damaged, so fetch it again", t.size, t.offset, room)
		}
		if t.Type.Known() {
			t.Data = f.data[start+t.offset : start+t.offset+t.size : start+t.offset+t.size]
		}
		f.tensors[i] = t.Tensor
	}
	return apart(infos)
}

// apart refuses tensors that share bytes. Of a tensor of unknown type only the
// first byte is known.
func apart(infos []info) error {
	sorted := slices.Clone(infos)
	slices.SortFunc(sorted, func(a, b info) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(sorted); i++ {
		before, t := sorted[i-1], sorted[i]
		if t.offset-before.offset < max(before.size, 1) {
			return t.refuse("it overlaps tensor %s", quote(before.Name))
		}
	}
	return nil
}

func (t info) refuse(format string, args ...any) error {
	return &FormatError{
		Offset: int64(t.at),
		What:   fmt.Sprintf("tensor %s: ", quote(t.Name)) + fmt.Sprintf(format, args...),
	}
}
