package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// Type is the type of a tensor's values, by the format's name.
type Type string

// F32 is the type of float32 values.
const F32 Type = "F32"

// sizes has the bytes of a value of each type that takes whole bytes.
var sizes = map[Type]int{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1,
	"U16": 2, "I16": 2, "F16": 2, "BF16": 2, "U32": 4, "I32": 4, F32: 4, "U64": 8, "I64": 8, "F64": 8,
}

// Size returns the number of bytes of a value, 0 for an unknown type.
func (t Type) Size() int { return sizes[t] }

// Tensor is a named array of values.
type Tensor struct {
	Name string
	Type Type
	// Shape lists the dimensions, the one whose values lie side by side last. It is
	// empty for a single value.
	Shape []uint64
	// Data is the stored bytes, little-endian. It refers to the file and must not be
	// changed.
	Data []byte

	start, end uint64 // in the data section
	at         int    // byte of the header's entry
}

// tensorHeader is a tensor in the header's JSON.
type tensorHeader struct {
	Type    Type     `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

const headerStart = 8

// readHeader reads the JSON entry by entry, so that names given twice are seen.
func (f *File) readHeader(header []byte) error {
	if err := bounded.JSON(header, int64(len(header))); err != nil {
		return fail(headerStart, "the header is not as the format demands: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(header))
	at := func() int { return headerStart + int(d.InputOffset()) }
	damaged := func(err error) error { return fail(at(), "the header is not as the format demands: %v", plain(err)) }
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return fail(headerStart, "the header is not a JSON object: this is not a safetensors file")
	}
	seen := map[string]bool{}
	for d.More() {
		place := at()
		token, err := d.Token()
		if err != nil {
			return damaged(err)
		}
		name, _ := token.(string)
		if seen[name] {
			return fail(place, "the name %s is there twice", quote(name))
		}
		seen[name] = true
		if name == "__metadata__" {
			err = d.Decode(&f.metadata)
		} else {
			err = f.readTensor(d, name, place)
		}
		if err != nil {
			if _, named := err.(*FormatError); named {
				return err
			}
			return damaged(err)
		}
	}
	if _, err := d.Token(); err != nil {
		return damaged(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fail(at(), "the header has more after its end")
	}
	return nil
}

// plain names an error of the JSON reader without quoting the file.
func plain(err error) string {
	switch e := err.(type) {
	case *json.SyntaxError:
		return "it is not valid JSON"
	case *json.UnmarshalTypeError:
		return fmt.Sprintf("field %s holds a JSON %s", quote(e.Field), quote(e.Value))
	}
	return "it is not complete"
}

func (f *File) readTensor(d *json.Decoder, name string, at int) error {
	var entry tensorHeader
	if err := d.Decode(&entry); err != nil {
		return err
	}
	t := Tensor{Name: name, Type: entry.Type, Shape: entry.Shape, at: at}
	switch {
	case t.Type.Size() == 0:
		return fail(at, "tensor %s is of type %s, which is not known here", quote(name), quote(string(t.Type)))
	case t.Shape == nil:
		return fail(at, "tensor %s has no shape", quote(name))
	case len(entry.Offsets) != 2:
		return fail(at, "tensor %s has %d offsets and should have 2", quote(name), len(entry.Offsets))
	}
	t.start, t.end = entry.Offsets[0], entry.Offsets[1]
	size, fits := t.bytes()
	if !fits || t.end < t.start || t.end-t.start != size {
		return fail(at, "tensor %s lies from %d to %d, which is not what a shape of %s of %s needs",
			quote(name), t.start, t.end, shape(t.Shape), t.Type)
	}
	f.byName[name] = len(f.tensors)
	f.tensors = append(f.tensors, t)
	return nil
}

// bytes returns the number of bytes that the shape needs, where that fits 64 bits.
func (t Tensor) bytes() (n uint64, fits bool) {
	n = uint64(t.Type.Size())
	for _, d := range t.Shape {
		var high uint64
		if high, n = bits.Mul64(n, d); high != 0 {
			return 0, false
		}
	}
	return n, true
}

// place assigns the tensors their data, and refuses any that are not one after the other
// from the start of the data to its end.
func (f *File) place(data []byte) error {
	order := make([]*Tensor, len(f.tensors))
	for i := range f.tensors {
		order[i] = &f.tensors[i]
	}
	slices.SortFunc(order, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	at, last := uint64(0), headerStart
	for _, t := range order {
		if t.start != at {
			return fail(t.at, "tensor %s starts at %d, and the one before it ends at %d", quote(t.Name), t.start, at)
		}
		if t.end > uint64(len(data)) {
			return fail(t.at, "tensor %s ends at %d, and the data has %d bytes: "+
				"the file was cut off or is damaged, so fetch it again", quote(t.Name), t.end, len(data))
		}
		t.Data = data[t.start:t.end:t.end]
		at, last = t.end, t.at
	}
	if at != uint64(len(data)) {
		return fail(last, "the tensors end at %d, and the data has %d bytes", at, len(data))
	}
	return nil
}

// quote keeps hostile names from flooding an error.
func quote(name string) string {
	const maxQuoted = 64
	if len(name) > maxQuoted {
		return fmt.Sprintf("%q… (%d bytes)", name[:maxQuoted], len(name))
	}
	return fmt.Sprintf("%q", name)
}

func shape(dims []uint64) string {
	const maxShown = 8
	if len(dims) > maxShown {
		return fmt.Sprintf("%d dimensions", len(dims))
	}
	return fmt.Sprint(dims)
}
