package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"slices"
)

// Writer collects metadata and tensors and writes them as one GGUF version 3
// file. The zero value is ready for use.
type Writer struct {
	entries []entry
	tensors []Tensor
}

// entry is a metadata value with its bytes as the file has them, after the kind.
type entry struct {
	key  string
	kind Kind
	data []byte
}

// Set sets the value of a key. The value's Go type chooses the kind: a
// string, a bool, an integer or floating-point number of stated size, or a slice of one of
// these. An int or uint has no stated size and is refused.
func (w *Writer) Set(key string, v any) error {
	kind, data, err := encodeValue(v)
	if err != nil {
		return fmt.Errorf("gguf: set metadata key %s: %w", quote(key), err)
	}
	if key == alignmentKey {
		if n, _, _ := integer(kind, data); kind != Uint32 || !alignable(n) {
			return fmt.Errorf("gguf: %s should be a uint32 and a power of two from %d to %d",
				alignmentKey, minAlignment, maxAlignment)
		}
	}
	w.put(entry{key, kind, data})
	return nil
}

// SetAll copies the metadata of a file, which must be open.
func (w *Writer) SetAll(m *Metadata) error {
	if m.data == nil {
		return ErrClosed
	}
	for _, key := range m.keys {
		v := m.values[key]
		w.put(entry{key, v.kind, bytes.Clone(m.data[v.at+4 : v.end])})
	}
	return nil
}

func (w *Writer) put(e entry) {
	if i := w.find(e.key); i >= 0 {
		w.entries[i] = e
		return
	}
	w.entries = append(w.entries, e)
}

func (w *Writer) find(key string) int {
	return slices.IndexFunc(w.entries, func(e entry) bool { return e.key == key })
}

// Add appends a tensor with its data, which must not change before WriteTo.
func (w *Writer) Add(t Tensor) error {
	if !t.Type.Known() {
		return &TypeError{Tensor: t.Name, Type: t.Type}
	}
	if slices.ContainsFunc(w.tensors, func(other Tensor) bool { return other.Name == t.Name }) {
		return fmt.Errorf("gguf: there is a tensor with the name %s already", quote(t.Name))
	}
	size, err := storedBytes(t.Type, t.Dims)
	if err == nil && uint64(len(t.Data)) != size {
		err = fmt.Errorf("its shape needs %d bytes of data, and there are %d", size, len(t.Data))
	}
	if err != nil {
		return fmt.Errorf("gguf: add tensor %s: %w", quote(t.Name), err)
	}
	t.Dims = slices.Clone(t.Dims)
	w.tensors = append(w.tensors, t)
	return nil
}

// WriteTo writes the file.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	alignment := w.alignment()
	parts := [][]byte{w.header(alignment)}
	for _, t := range w.tensors {
		parts = append(parts, t.Data)
	}
	at := uint64(0)
	for _, part := range parts {
		padding := make([]byte, roundUp(at, alignment)-at)
		for _, b := range [][]byte{padding, part} {
			n, err := out.Write(b)
			at += uint64(n)
			if err != nil {
				return int64(at), fmt.Errorf("gguf: write: %w", err)
			}
		}
	}
	return int64(at), nil
}

func (w *Writer) header(alignment uint64) []byte {
	b := []byte(magic)
	b = binary.LittleEndian.AppendUint32(b, 3)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(w.tensors)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(w.entries)))
	for _, e := range w.entries {
		b = appendString(b, e.key)
		b = binary.LittleEndian.AppendUint32(b, uint32(e.kind))
		b = append(b, e.data...)
	}
	offset := uint64(0)
	for _, t := range w.tensors {
		b = appendString(b, t.Name)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Dims)))
		for _, d := range t.Dims {
			b = binary.LittleEndian.AppendUint64(b, d)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(t.Type))
		b = binary.LittleEndian.AppendUint64(b, offset)
		offset = roundUp(offset+uint64(len(t.Data)), alignment)
	}
	return b
}

// alignment returns the one that Set checked, or that SetAll found in a file that was.
func (w *Writer) alignment() uint64 {
	i := w.find(alignmentKey)
	if i < 0 {
		return defaultAlignment
	}
	n, _, _ := integer(w.entries[i].kind, w.entries[i].data)
	return n
}

func roundUp(n, alignment uint64) uint64 { return (n + alignment - 1) / alignment * alignment }

func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}

// encodeValue returns the kind of a value and its bytes.
func encodeValue(v any) (Kind, []byte, error) {
	switch v := v.(type) {
	case string:
		return String, appendString(nil, v), nil
	case []string:
		b := arrayHead(String, len(v))
		for _, s := range v {
			b = appendString(b, s)
		}
		return Array, b, nil
	}
	of := reflect.ValueOf(v)
	if of.Kind() != reflect.Slice {
		if kind, ok := kindNamed(of.Kind().String()); ok {
			b, err := binary.Append(nil, binary.LittleEndian, v)
			return kind, b, err
		}
	} else if elem, ok := kindNamed(of.Type().Elem().Kind().String()); ok {
		b, err := binary.Append(arrayHead(elem, of.Len()), binary.LittleEndian, v)
		return Array, b, err
	}
	return 0, nil, fmt.Errorf("a value of Go type %T has no kind: use a string, a bool, "+
		"a number with a stated size, such as uint32, or a slice of these", v)
}

// kindNamed returns the kind of a fixed size that has the name of a Go type.
func kindNamed(name string) (Kind, bool) {
	for k, kind := range kinds {
		if kind.name == name && kind.size > 0 {
			return Kind(k), true
		}
	}
	return 0, false
}

func arrayHead(elem Kind, n int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(elem))
	return binary.LittleEndian.AppendUint64(b, uint64(n))
}

var _ io.WriterTo = (*Writer)(nil)
