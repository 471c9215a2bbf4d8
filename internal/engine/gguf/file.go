package gguf

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"

	"github.com/sotto-dp/sotto/internal/engine/mapfile"
)

const (
	magic            = "GGUF"
	alignmentKey     = "general.alignment"
	defaultAlignment = 32
	minAlignment     = 8
	maxAlignment     = 1 << 20
	// A key of no bytes with a value of one byte.
	minEntry = 8 + 4 + 1
	// A name of no bytes, one dimension, a type and an offset.
	minTensor = 8 + 4 + 8 + 4 + 8
)

// File is a GGUF file. It is safe for concurrent use until Close.
type File struct {
	version  uint32
	data     []byte
	metadata Metadata
	tensors  []Tensor
	byName   map[string]int
	mapping  *mapfile.Mapping
}

// Open maps a file and checks it. The file must not be changed while it is open.
func Open(path string) (*File, error) {
	mapping, err := mapfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a model file: %w", err)
	}
	f, err := Parse(mapping.Bytes())
	if err != nil {
		mapping.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.mapping = mapping
	return f, nil
}

// Parse reads a file that is in memory. The result refers to data, which must not
// be changed.
func Parse(data []byte) (*File, error) {
	c := &cursor{data: data}
	f := &File{data: data, byName: map[string]int{}}
	f.version = readVersion(c)
	tensors := c.count("tensors", minTensor)
	entries := c.count("metadata entries", minEntry)
	f.metadata.read(c, entries)
	alignment := f.metadata.alignment(c)
	infos := f.readInfos(c, tensors)
	if c.err != nil {
		return nil, c.err
	}
	if err := f.place(infos, c.pos, alignment); err != nil {
		return nil, err
	}
	return f, nil
}

func readVersion(c *cursor) uint32 {
	if !bytes.Equal(c.take(4, "the magic number"), []byte(magic)) {
		c.failAt(0, "this is not a GGUF file (its first bytes are not %q): give a model in GGUF format", magic)
	}
	at := c.pos
	version := c.uint32("the version")
	switch {
	case c.err != nil:
	case version == 2 || version == 3:
	case bits.ReverseBytes32(version) <= 0xffff:
		c.failAt(at, "this is a big-endian GGUF file: use the little-endian one of the model")
	case version == 1:
		c.failAt(at, "GGUF version 1 is not read any more: use a newer file of the model (version 3)")
	default:
		c.failAt(at, "GGUF version %d is not known here: versions 2 and 3 are", version)
	}
	return version
}

// alignable reports whether offsets may be multiples of n.
func alignable(n uint64) bool {
	return n >= minAlignment && n <= maxAlignment && n&(n-1) == 0
}

// Version returns the version of the format, 2 or 3.
func (f *File) Version() int { return int(f.version) }

// Metadata returns what the file says about the model.
func (f *File) Metadata() *Metadata { return &f.metadata }

// Tensors lists the tensors in the order of the file.
func (f *File) Tensors() []Tensor { return slices.Clone(f.tensors) }

// Tensor finds a tensor by name.
func (f *File) Tensor(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return f.tensors[i], true
}

// Size returns the length of the file in bytes.
func (f *File) Size() int64 { return int64(len(f.data)) }

// Release tells the operating system that the mapped pages are not needed now.
// All data stays readable: what is used again is read again from the file.
func (f *File) Release() error { return f.mapping.Release() }

// ReleaseData is Release for the data of a tensor, or a part of it.
func (f *File) ReleaseData(data []byte) error { return f.mapping.ReleasePart(data) }

// Close releases the mapping. Data of tensors must not be used afterwards; strings and
// numbers that Metadata returned may be. Closing again does nothing.
func (f *File) Close() error {
	f.metadata.data = nil
	f.tensors, f.byName = nil, nil
	return f.mapping.Close()
}
