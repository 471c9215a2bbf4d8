package convert

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/sotto-dp/sotto/sys/bounded"
)

const (
	magic = "ARROW1"
	// maxMeta is the most bytes that the metadata of a message has.
	maxMeta = 64 << 20
	// maxNested is how deep types of columns are nested at most.
	maxNested = 16
	// maxEmpty is how many values there are at most that take no byte of the file.
	maxEmpty = 1 << 20
	// maxParts is in how many pieces a dictionary comes at most.
	maxParts = 1 << 12
	// maxCell is the longest value, as for other formats.
	maxCell = 16 << 20
	// kinds of messages
	isSchema, isDictionary, isBatch = 1, 2, 3
)

// Arrow reads an Arrow file or stream (Feather version 2): every column that can be written as
// text; lists and structs as JSON. Classes of Hugging Face features are written by their names.
func (r *Rows) Arrow(in io.ReaderAt, size int64) error {
	var head [8]byte
	if n, _ := in.ReadAt(head[:], 0); n == len(head) && string(head[:4]) == "FEA1" {
		return refuse("it is a Feather file of version 1: write it with version 2, which is an Arrow file")
	}
	from := int64(0)
	if string(head[:6]) == magic {
		from = 8 // a file is a stream between marks
	}
	return calm("Arrow file", func() error {
		a := &arrow{r: r, in: in, at: from, size: size, dictionaries: map[int64]*column{}}
		for {
			more, err := a.message()
			if err != nil || !more {
				return err
			}
		}
	})
}

// arrow is a stream that is being read.
type arrow struct {
	r            *Rows
	in           io.ReaderAt
	at, size     int64
	fields       []*arrowField
	dictionaries map[int64]*column
	// unfolded is how many bytes the dictionaries take that were compressed, and those that were
	// replaced did; last is the same with the latest batch.
	unfolded, last int64
	room           []byte
	flat           bool // rows have something nested that becomes columns
}

// read reads bytes of the file, as many as it has.
func (a *arrow) read(n int64) ([]byte, error) {
	if n < 0 || n > a.size-a.at || n > Largest {
		return nil, damaged("Arrow file")
	}
	out := make([]byte, n)
	_, err := a.in.ReadAt(out, a.at)
	if err == io.EOF {
		err = nil
	}
	a.at += n
	return out, err
}

// message reads the next message of the stream.
func (a *arrow) message() (more bool, err error) {
	if a.at >= a.size {
		return false, a.ended()
	}
	prefix, err := a.read(4)
	if err != nil {
		return false, err
	}
	if binary.LittleEndian.Uint32(prefix) == 0xffffffff { // else it is of a version before 0.15
		if prefix, err = a.read(4); err != nil {
			return false, err
		}
	}
	size := int64(binary.LittleEndian.Uint32(prefix))
	if size == 0 {
		return false, a.ended()
	}
	if size > maxMeta {
		return false, damaged("Arrow file")
	}
	meta, err := a.read(size)
	if err != nil {
		return false, err
	}
	m := flat(meta).root()
	body, err := a.read(m.long(3, 0))
	if err != nil {
		return false, err
	}
	about, ok := m.table(2)
	if !ok {
		return false, damaged("Arrow file")
	}
	switch kind := m.byte(1); {
	case kind == isSchema:
		return true, a.schema(about)
	case a.fields == nil:
		return false, damaged("Arrow file")
	case kind == isDictionary:
		return true, a.dictionary(about, body)
	case kind == isBatch:
		return true, a.batch(about, body)
	}
	return true, nil
}

func (a *arrow) ended() error {
	if a.fields == nil {
		return damaged("Arrow file")
	}
	return nil
}

// schema reads the columns.
func (a *arrow) schema(s node) error {
	if s.short(0, 0) != 0 {
		return refuse("the Arrow file is of a big-endian machine: write it again on another one")
	}
	if a.fields != nil {
		return damaged("Arrow file")
	}
	names := []string{}
	for _, f := range s.tables(1) {
		field, err := newField(f, 0)
		if err != nil {
			return err
		}
		a.fields = append(a.fields, field)
		names = append(names, field.name)
	}
	for _, pair := range s.tables(2) {
		if pair.string(0) == "huggingface" {
			classes := Classes([]byte(pair.string(1)))
			for _, f := range a.fields {
				f.classes = classes[f.name]
			}
		}
	}
	if flat, what := flatNames(names); flat != nil {
		a.flat, a.r.Note, names = true, what, flat
	}
	return a.r.Header(names)
}

// Classes are the names of the classes of columns, as the metadata of Hugging Face datasets has
// them: {"info": {"features": {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}}}.
func Classes(metadata []byte) map[string][]string {
	var m struct {
		Info struct {
			Features map[string]json.RawMessage `json:"features"`
		} `json:"info"`
		Features map[string]json.RawMessage `json:"features"`
	}
	if bounded.UnmarshalJSON(metadata, bounded.Large, &m) != nil {
		return nil
	}
	if m.Features == nil {
		m.Features = m.Info.Features
	}
	out := map[string][]string{}
	for name, raw := range m.Features {
		var f struct {
			Type  string   `json:"_type"`
			Names []string `json:"names"`
		}
		if json.Unmarshal(raw, &f) == nil && f.Type == "ClassLabel" && len(f.Names) > 0 {
			out[name] = f.Names
		}
	}
	return out
}

// batch writes the rows of a batch.
func (a *arrow) batch(m node, body []byte) error {
	columns, n, err := a.columns(a.fields, m, body)
	if err != nil {
		return err
	}
	for i := range n {
		if a.flat {
			if err := a.flatRow(columns, i); err != nil {
				return err
			}
			continue
		}
		for _, c := range columns {
			a.room = c.text(a.room[:0], i)
			a.r.Cell(a.room)
		}
		if err := a.r.End(); err != nil {
			return err
		}
	}
	return nil
}

// flatRow writes a row that has something nested of an annotation tool or a conversation.
func (a *arrow) flatRow(columns []*column, i int) error {
	var o object
	for _, c := range columns {
		raw := c.json(nil, i, 0)
		if c.f.classes != nil {
			raw = quoted(string(c.text(nil, i)))
		}
		o = append(o, field{c.f.name, raw})
	}
	o, _ = flatten(o)
	kept := o[:0:0]
	for _, f := range o { // a row that does not nest what the schema says
		if slices.Contains(a.r.Names, f.key) {
			kept = append(kept, f)
		}
	}
	return a.r.object(kept)
}

// dictionary reads the values that columns refer to by number.
func (a *arrow) dictionary(m node, body []byte) error {
	id := m.long(0, 0)
	var of *arrowField
	for _, f := range a.fields {
		of = cmpField(of, f.withDictionary(id))
	}
	data, ok := m.table(1)
	if of == nil || !ok {
		return damaged("Arrow file")
	}
	values := *of
	values.dictionary = nil
	columns, _, err := a.columns([]*arrowField{&values}, data, body)
	if err != nil {
		return err
	}
	a.unfolded = a.last
	if before := a.dictionaries[id]; m.byte(2) != 0 && before != nil { // more of the same
		if len(before.parts) >= maxParts {
			return damaged("Arrow file")
		}
		columns[0] = &column{f: &values, n: before.n + columns[0].n, parts: append(before.list(), columns[0])}
	}
	a.dictionaries[id] = columns[0]
	return nil
}

func cmpField(a, b *arrowField) *arrowField {
	if a != nil {
		return a
	}
	return b
}

// columns reads the columns of a batch.
func (a *arrow) columns(fields []*arrowField, m node, body []byte) ([]*column, int, error) {
	l := &layout{a: a, body: body, batch: m, unfolded: a.unfolded}
	if c, ok := m.table(3); ok {
		l.codec = c.byte(0) + 1
	}
	l.nodes, l.nodeCount = m.list(1, 16)
	l.buffers, l.bufferCount = m.list(2, 16)
	l.variadic, l.variadicCount = m.list(4, 8)
	n := m.long(0, 0)
	if n < 0 || n > Largest {
		return nil, 0, damaged("Arrow file")
	}
	var out []*column
	for _, f := range fields {
		c, err := l.column(f)
		if err != nil {
			return nil, 0, err
		}
		if int64(c.n) != n {
			return nil, 0, damaged("Arrow file")
		}
		out = append(out, c)
	}
	a.last = l.unfolded
	if !slices.ContainsFunc(fields, func(f *arrowField) bool { return !f.costless() }) && n > maxEmpty {
		return nil, 0, damaged("Arrow file")
	}
	return out, int(n), nil
}

// layout hands out the parts of a batch, in their order.
type layout struct {
	a                          *arrow
	body                       []byte
	batch                      node
	codec                      int // 0, or 1 and the codec
	nodes, nodeCount           int
	buffers, bufferCount       int
	variadic, variadicCount    int
	nextNode, nextBuf, nextVar int
	unfolded                   int64
}

// node returns how many values the next column has.
func (l *layout) node() int {
	if l.nextNode >= l.nodeCount {
		panic("no such column")
	}
	n := l.batch.b.i64(l.nodes + 16*l.nextNode)
	l.nextNode++
	if n < 0 || n > Largest {
		panic("no such length")
	}
	return int(n)
}

// buffer returns the next buffer, unfolded.
func (l *layout) buffer() ([]byte, error) {
	if l.nextBuf >= l.bufferCount {
		panic("no such buffer")
	}
	at := l.buffers + 16*l.nextBuf
	l.nextBuf++
	from, size := l.batch.b.i64(at), l.batch.b.i64(at+8)
	raw := l.body[from:][:size]
	if l.codec == 0 || size == 0 {
		return raw, nil
	}
	want := int64(binary.LittleEndian.Uint64(raw))
	raw = raw[8:]
	if want == -1 {
		return raw, nil
	}
	if l.unfolded += want; want < 0 || l.unfolded > int64(l.a.r.maxCells) {
		return nil, errLarge
	}
	var in io.Reader = lz4.NewReader(bytes.NewReader(raw))
	if l.codec == 2 {
		z, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = z
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(in, want+1))
	if err != nil || n != want {
		return nil, damaged("Arrow file")
	}
	return out.Bytes(), nil
}
