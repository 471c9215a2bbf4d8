package gguf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// Writer collects metadata and tensors and writes them as one GGUF version 3
// file. The zero value is ready for use.
type Writer struct {
	entries []entry
	byKey   map[string]int
	tensors []pending
	names   map[string]bool
}

// entry is a metadata value with its bytes as the file has them, after the kind.
type entry struct {
	key  string
	kind Kind
	data []byte
}

type pending struct {
	Tensor
	size  uint64
	write func(io.Writer) error
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
		if err := checkWrittenAlignment(kind, data); err != nil {
			return err
		}
	}
	w.put(entry{key, kind, data})
	return nil
}

func checkWrittenAlignment(kind Kind, data []byte) error {
	n, _, _ := integer(kind, data)
	if kind != Uint32 || !alignable(n) {
		return fmt.Errorf("gguf: %s should be a uint32 and a power of two from %d to %d",
			alignmentKey, leastAlignment, largestAlignment)
	}
	return nil
}

// SetAll copies the metadata of a file, which must be open.
func (w *Writer) SetAll(m *Metadata) error {
	for _, key := range m.keys {
		v, data, err := m.find(key)
		if err != nil {
			return err
		}
		if v.kind == Array {
			data = m.data[v.at+4 : v.end]
		}
		w.put(entry{key, v.kind, bytes.Clone(data)})
	}
	return nil
}

func (w *Writer) put(e entry) {
	if i, ok := w.byKey[e.key]; ok {
		w.entries[i] = e
		return
	}
	if w.byKey == nil {
		w.byKey = map[string]int{}
	}
	w.byKey[e.key] = len(w.entries)
	w.entries = append(w.entries, e)
}

// Add appends a tensor with its data, which must not change before WriteTo.
func (w *Writer) Add(t Tensor) error {
	data := t.Data
	return w.add(t, func(size uint64) error {
		if uint64(len(data)) != size {
			return fmt.Errorf("its shape needs %d bytes of data, and there are %d", size, len(data))
		}
		return nil
	}, func(out io.Writer) error {
		_, err := out.Write(data)
		return err
	})
}

// AddStream appends a tensor whose data WriteTo gets from write, so that a model
// larger than memory can be made. The tensor's Data is not used.
func (w *Writer) AddStream(t Tensor, write func(io.Writer) error) error {
	return w.add(t, func(uint64) error { return nil }, write)
}

func (w *Writer) add(t Tensor, check func(size uint64) error, write func(io.Writer) error) error {
	if !t.Type.Known() {
		return &TypeError{Tensor: t.Name, Type: t.Type}
	}
	if w.names[t.Name] {
		return fmt.Errorf("gguf: there is a tensor with the name %s already", quote(t.Name))
	}
	size, err := storedBytes(t.Type, t.Dims)
	if err == nil {
		err = check(size)
	}
	if err != nil {
		return fmt.Errorf("gguf: add tensor %s: %w", quote(t.Name), err)
	}
	if w.names == nil {
		w.names = map[string]bool{}
	}
	w.names[t.Name] = true
	t.Dims, t.Data = append([]uint64(nil), t.Dims...), nil
	w.tensors = append(w.tensors, pending{t, size, write})
	return nil
}

// WriteTo writes the file.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	buffered := bufio.NewWriterSize(out, 1<<16)
	c := &counter{w: buffered}
	if err := w.writeAll(c); err != nil {
		return c.n, fmt.Errorf("gguf: write: %w", err)
	}
	if err := buffered.Flush(); err != nil {
		return c.n, fmt.Errorf("gguf: write: %w", err)
	}
	return c.n, nil
}

func (w *Writer) writeAll(c *counter) error {
	alignment := w.alignment()
	if _, err := c.Write(w.header(alignment)); err != nil {
		return err
	}
	for _, t := range w.tensors {
		if err := c.pad(alignment); err != nil {
			return err
		}
		before := c.n
		if err := t.write(c); err != nil {
			return fmt.Errorf("tensor %s: %w", quote(t.Name), err)
		}
		if wrote := c.n - before; uint64(wrote) != t.size {
			return fmt.Errorf("tensor %s needs %d bytes, and %d were given", quote(t.Name), t.size, wrote)
		}
	}
	return nil
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
		offset = roundUp(offset+t.size, alignment)
	}
	return b
}

// alignment is as Set checked it, or as SetAll found it in a file that was.
func (w *Writer) alignment() uint64 {
	i, ok := w.byKey[alignmentKey]
	if !ok {
		return defaultAlignment
	}
	n, _, _ := integer(w.entries[i].kind, w.entries[i].data)
	return n
}

// counter knows how far the file has got.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func (c *counter) pad(alignment uint64) error {
	_, err := c.Write(make([]byte, roundUp(uint64(c.n), alignment)-uint64(c.n)))
	return err
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
	case bool:
		return scalar(Bool, v)
	case uint8:
		return scalar(Uint8, v)
	case int8:
		return scalar(Int8, v)
	case uint16:
		return scalar(Uint16, v)
	case int16:
		return scalar(Int16, v)
	case uint32:
		return scalar(Uint32, v)
	case int32:
		return scalar(Int32, v)
	case uint64:
		return scalar(Uint64, v)
	case int64:
		return scalar(Int64, v)
	case float32:
		return scalar(Float32, v)
	case float64:
		return scalar(Float64, v)
	case []bool:
		return array(Bool, len(v), v)
	case []uint8:
		return array(Uint8, len(v), v)
	case []int8:
		return array(Int8, len(v), v)
	case []uint16:
		return array(Uint16, len(v), v)
	case []int16:
		return array(Int16, len(v), v)
	case []uint32:
		return array(Uint32, len(v), v)
	case []int32:
		return array(Int32, len(v), v)
	case []uint64:
		return array(Uint64, len(v), v)
	case []int64:
		return array(Int64, len(v), v)
	case []float32:
		return array(Float32, len(v), v)
	case []float64:
		return array(Float64, len(v), v)
	}
	return 0, nil, fmt.Errorf("a value of Go type %T has no kind: use a string, a bool, "+
		"a number with a stated size, such as uint32, or a slice of these", v)
}

func scalar(kind Kind, v any) (Kind, []byte, error) {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	return kind, b, err
}

func array(elem Kind, n int, v any) (Kind, []byte, error) {
	b, err := binary.Append(arrayHead(elem, n), binary.LittleEndian, v)
	return Array, b, err
}

func arrayHead(elem Kind, n int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(elem))
	return binary.LittleEndian.AppendUint64(b, uint64(n))
}

var _ io.WriterTo = (*Writer)(nil)
