package safetensors

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/engine/mapfile"
)

// The format's own limit, which keeps a JSON reader from endless work.
const maxHeader = 100_000_000

// A FormatError says where bytes are not those of a safetensors file.
type FormatError struct {
	Offset int64  // byte of the file
	What   string // what is wrong there
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("safetensors: byte %d: %s", e.Offset, e.What)
}

func fail(at int, format string, args ...any) error {
	return &FormatError{Offset: int64(at), What: fmt.Sprintf(format, args...)}
}

// File is a safetensors file. It is safe for concurrent use until Close.
type File struct {
	size     int64
	metadata map[string]string
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
	if len(data) < 8 {
		return nil, fail(0, "the length of the header needs 8 bytes, and the file has %d: fetch it again", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	switch {
	case n > maxHeader:
		return nil, fail(0, "a header of %d bytes is longer than the format allows: this is not a safetensors file", n)
	case n > uint64(len(data)-8):
		return nil, fail(0, "the header needs %d bytes, and the file ends after %d: "+
			"it was cut off or is not a safetensors file", n, len(data)-8)
	}
	f := &File{size: int64(len(data)), byName: map[string]int{}}
	if err := f.readHeader(data[8 : 8+n]); err != nil {
		return nil, err
	}
	if err := f.place(data[8+n:]); err != nil {
		return nil, err
	}
	return f, nil
}

// Metadata returns what the file says about itself, often nothing.
func (f *File) Metadata() map[string]string { return f.metadata }

// Tensors lists the tensors in the order of the header.
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
func (f *File) Size() int64 { return f.size }

// Release tells the operating system that the mapped pages are not needed now.
// All data stays readable: what is used again is read again from the file.
func (f *File) Release() error { return f.mapping.Release() }

// ReleaseData is Release for the data of a tensor, or a part of it.
func (f *File) ReleaseData(data []byte) error { return f.mapping.ReleasePart(data) }

// Close releases the mapping. Data of tensors must not be used afterwards. Closing
// again does nothing.
func (f *File) Close() error {
	f.tensors, f.byName = nil, nil
	return f.mapping.Close()
}
