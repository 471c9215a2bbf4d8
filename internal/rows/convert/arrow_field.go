package convert

import (
	"slices"
	"strings"
)

// arrowField is a column of the schema.
type arrowField struct {
	name       string
	kind       int
	width      int  // bits of numbers, bytes of fixed sizes
	signed     bool // of whole numbers
	unit       int  // of times
	scale      int  // of decimals
	children   []*arrowField
	dictionary *int64
	index      *arrowField // of numbers that refer to the dictionary
	classes    []string
}

// costless reports whether any number of values takes no byte of a file.
func (f *arrowField) costless() bool {
	switch f.kind {
	case typeNull:
		return true
	case typeStruct, typeFixedList, typeFixed:
		return f.kind != typeStruct && f.width == 0 || !slices.ContainsFunc(f.children, func(c *arrowField) bool { return !c.costless() }) && f.kind != typeFixed
	}
	return false
}

func (f *arrowField) withDictionary(id int64) *arrowField {
	if f.dictionary != nil && *f.dictionary == id {
		return f
	}
	for _, c := range f.children {
		if found := c.withDictionary(id); found != nil {
			return found
		}
	}
	return nil
}

// newField reads the type of a column.
func newField(n node, depth int) (*arrowField, error) {
	f := &arrowField{name: n.string(0), kind: n.byte(2)}
	t, _ := n.table(3)
	if t.b == nil {
		t = n // types without anything to say may be left out
	}
	if depth > maxNested {
		return nil, damaged("Arrow file")
	}
	switch f.kind {
	case typeInt:
		f.width, f.signed = t.int(0, 0), t.byte(1) != 0
	case typeFloat:
		f.width = 16 << t.short(0, 0)
	case typeDecimal:
		f.scale, f.width = t.int(1, 0), t.int(2, 128)
	case typeDate, typeTime, typeDuration:
		f.unit, f.width = t.short(0, 1), t.int(1, 32)
		if f.kind == typeDuration {
			f.width = 64
		}
	case typeTimestamp:
		f.unit = t.short(0, 0)
	case typeFixed, typeFixedList:
		f.width = t.int(0, 0)
		if f.width < 0 {
			return nil, damaged("Arrow file")
		}
	case typeNull, typeBinary, typeText, typeBool, typeList, typeStruct, typeMap, typeLargeBinary, typeLargeText, typeLargeList, typeBinaryView, typeTextView:
	default:
		return nil, refuse("the Arrow file has a column of a kind that is not read (a union, an interval or run-end encoding): leave it out, or write the file as Parquet")
	}
	for _, c := range n.tables(5) {
		child, err := newField(c, depth+1)
		if err != nil {
			return nil, err
		}
		f.children = append(f.children, child)
	}
	if d, ok := n.table(4); ok {
		id := d.long(0, 0)
		f.dictionary, f.index = &id, &arrowField{kind: typeInt, width: 32, signed: true}
		if t, ok := d.table(1); ok {
			f.index.width, f.index.signed = t.int(0, 0), t.byte(1) != 0
		}
	}
	if strings.IndexByte(f.name, 0) >= 0 {
		return nil, damaged("Arrow file")
	}
	return f, nil
}
