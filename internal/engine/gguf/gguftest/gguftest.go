// Package gguftest writes GGUF files for tests.
package gguftest

import (
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
)

// Writer collects metadata and tensors and writes them as one GGUF version 3 file. The zero value is ready for use.
type Writer struct {
	entries []entry
	tensors []gguf.Tensor
}

// entry is a metadata value with its bytes as the file has them.
type entry struct {
	key  string
	data []byte
}

// kinds are the kinds of fixed size by the Go type of their values.
var kinds = map[reflect.Kind]gguf.Kind{
	reflect.Uint8: gguf.Uint8, reflect.Int8: gguf.Int8, reflect.Uint16: gguf.Uint16, reflect.Int16: gguf.Int16,
	reflect.Uint32: gguf.Uint32, reflect.Int32: gguf.Int32, reflect.Uint64: gguf.Uint64, reflect.Int64: gguf.Int64,
	reflect.Float32: gguf.Float32, reflect.Float64: gguf.Float64, reflect.Bool: gguf.Bool,
}

// types are the Go types of values of each kind.
var types = map[gguf.Kind]reflect.Type{
	gguf.Uint8: reflect.TypeFor[uint8](), gguf.Int8: reflect.TypeFor[int8](), gguf.Uint16: reflect.TypeFor[uint16](),
	gguf.Int16: reflect.TypeFor[int16](), gguf.Uint32: reflect.TypeFor[uint32](), gguf.Int32: reflect.TypeFor[int32](),
	gguf.Uint64: reflect.TypeFor[uint64](), gguf.Int64: reflect.TypeFor[int64](), gguf.Float32: reflect.TypeFor[float32](),
	gguf.Float64: reflect.TypeFor[float64](), gguf.Bool: reflect.TypeFor[bool](), gguf.String: reflect.TypeFor[string](),
}

// Set sets the value of a key. The value's Go type chooses the kind: a string, a bool, an integer or floating-point
// number of stated size, or a slice of one of these.
func (w *Writer) Set(key string, v any) error {
	of := reflect.ValueOf(v)
	var data []byte
	switch kind, fixed := kinds[of.Kind()]; {
	case fixed:
		data = appendKind(nil, kind)
	case of.Kind() == reflect.String:
		data = appendString(appendKind(nil, gguf.String), v.(string))
	case of.Kind() == reflect.Slice:
		elem := gguf.String
		if _, texts := v.([]string); !texts {
			elem = kinds[of.Type().Elem().Kind()]
		}
		data = binary.LittleEndian.AppendUint64(appendKind(appendKind(nil, gguf.Array), elem), uint64(of.Len()))
	}
	if texts, ok := v.([]string); ok {
		for _, s := range texts {
			data = appendString(data, s)
		}
	} else if of.Kind() != reflect.String {
		var err error
		if data, err = binary.Append(data, binary.LittleEndian, v); err != nil {
			return fmt.Errorf("metadata key %q: %w", key, err)
		}
	}
	if i := slices.IndexFunc(w.entries, func(e entry) bool { return e.key == key }); i >= 0 {
		w.entries[i].data = data
	} else {
		w.entries = append(w.entries, entry{key, data})
	}
	return nil
}

// SetAll copies the metadata of a file. Integers have to fit an int64.
func (w *Writer) SetAll(m *gguf.Metadata) error {
	for _, key := range m.Keys() {
		v, err := value(m, key)
		if err == nil {
			err = w.Set(key, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// value returns a value as the Go type of its kind.
func value(m *gguf.Metadata, key string) (v any, err error) {
	kind, elem, _ := m.Kind(key)
	list := kind == gguf.Array
	if !list {
		elem = kind
	}
	switch elem {
	case gguf.String:
		if list {
			return m.Strings(key)
		}
		return m.String(key)
	case gguf.Bool:
		if list {
			return m.Bools(key)
		}
		return m.Bool(key)
	case gguf.Float32, gguf.Float64:
		if list {
			v, err = m.Floats(key)
		} else {
			v, err = m.Float(key)
		}
	case gguf.Uint64:
		if list {
			v, err = m.Ints(key)
		} else {
			v, err = m.Uint(key)
		}
	default:
		if list {
			v, err = m.Ints(key)
		} else {
			v, err = m.Float(key) // exact: a smaller integer fits a float64
		}
	}
	if err != nil {
		return nil, err
	}
	from, to := reflect.ValueOf(v), types[elem]
	if !list {
		return from.Convert(to).Interface(), nil
	}
	all := reflect.MakeSlice(reflect.SliceOf(to), 0, from.Len())
	for i := range from.Len() {
		all = reflect.Append(all, from.Index(i).Convert(to))
	}
	return all.Interface(), nil
}

// Add appends a tensor with its data, which must not change before WriteTo.
func (w *Writer) Add(t gguf.Tensor) {
	t.Dims = slices.Clone(t.Dims)
	w.tensors = append(w.tensors, t)
}

// WriteTo writes the file.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	alignment := uint64(32)
	b := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(w.tensors)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(w.entries)))
	for _, e := range w.entries {
		b = append(appendString(b, e.key), e.data...)
		if e.key == "general.alignment" {
			alignment = uint64(binary.LittleEndian.Uint32(e.data[4:]))
		}
	}
	padding := func(n int) []byte { return make([]byte, (alignment-uint64(n)%alignment)%alignment) }
	var data []byte
	for _, t := range w.tensors {
		data = append(data, padding(len(data))...)
		b = appendString(b, t.Name)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Dims)))
		for _, d := range t.Dims {
			b = binary.LittleEndian.AppendUint64(b, d)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(t.Type))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
		data = append(data, t.Data...)
	}
	if len(w.tensors) > 0 {
		b = append(b, padding(len(b))...)
	}
	n, err := out.Write(append(b, data...))
	return int64(n), err
}

func appendKind(b []byte, k gguf.Kind) []byte { return binary.LittleEndian.AppendUint32(b, uint32(k)) }

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}
