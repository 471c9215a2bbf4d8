package reconstruct

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/sys/spell"
	"github.com/sotto-dp/sotto/schema"
)

// Format of a file of perturbed rows.
type Format string

// The formats there are: both have values as the domains of the schema spell them, bins in
// words.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl"
)

// FormatOf returns the format of a file by its name: JSON Lines for .jsonl and .ndjson,
// otherwise CSV.
func FormatOf(name string) Format {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson") {
		return JSONL
	}
	return CSV
}

// Domains returns the numbers of values of a schema's columns, all of which have to be
// discrete.
func Domains(s schema.Schema) ([]int, error) {
	out := make([]int, len(s.Columns))
	for i, c := range s.Columns {
		if !c.Discrete() {
			return nil, fmt.Errorf("column %q is numeric without bins, and only discrete columns can be perturbed: give it edges in the schema (--schema FILE), such as edges = [40, 60], which are public", c.Name)
		}
		out[i] = len(c.Domain())
	}
	return out, nil
}

// Writer writes rows by a schema.
type Writer struct {
	w      *bufio.Writer
	values [][][]byte // by column and code, with what goes before it
	end    string
	line   []byte
	header []byte
}

// NewWriter writes to w. Call Flush at the end.
func NewWriter(w io.Writer, s schema.Schema, f Format) (*Writer, error) {
	if _, err := Domains(s); err != nil {
		return nil, err
	}
	out := &Writer{w: bufio.NewWriterSize(w, 1<<16), end: "\n"}
	var names []string
	for i, c := range s.Columns {
		names = append(names, c.Name)
		var values [][]byte
		for _, v := range c.Domain() {
			text, err := field(f, i, c.Name, v)
			if err != nil {
				return nil, err
			}
			values = append(values, text)
		}
		out.values = append(out.values, values)
	}
	if f == JSONL {
		out.end = "}\n"
	} else {
		header, err := record(names)
		if err != nil {
			return nil, err
		}
		out.header = append(header, '\n')
	}
	return out, nil
}

// field returns a value with all that stands before it in its line.
func field(f Format, i int, name, value string) ([]byte, error) {
	before := ","
	if i == 0 {
		before = ""
	}
	if f != JSONL {
		text, err := record([]string{value})
		return append([]byte(before), text...), err
	}
	if i == 0 {
		before = "{"
	}
	var b bytes.Buffer
	b.WriteString(before)
	for _, part := range []string{name, value} {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("writing perturbed rows: %w", err)
		}
		b.Write(text)
		b.WriteByte(':')
	}
	return bytes.TrimSuffix(b.Bytes(), []byte(":")), nil
}

// record returns a line of CSV without its end.
func record(fields []string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write(fields); err != nil {
		return nil, fmt.Errorf("writing perturbed rows: %w", err)
	}
	w.Flush()
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Write writes rows.
func (w *Writer) Write(r *Rows) error {
	if len(r.Columns) != len(w.values) {
		return fmt.Errorf("rows have %d columns, and the schema %d: write rows of the schema", len(r.Columns), len(w.values))
	}
	w.writeHeader()
	for row := range r.Count {
		w.line = w.line[:0]
		for i, values := range w.values {
			code := int(r.Columns[i][row])
			if code >= len(values) {
				return fmt.Errorf("code %d is outside the %d values of column %d: write rows of the schema", code, len(values), i+1)
			}
			w.line = append(w.line, values[code]...)
		}
		w.line = append(w.line, w.end...)
		if _, err := w.w.Write(w.line); err != nil {
			return fmt.Errorf("writing perturbed rows: %w", err)
		}
	}
	return nil
}

func (w *Writer) writeHeader() {
	_, _ = w.w.Write(w.header) // an error comes again at the next write
	w.header = nil
}

// Flush writes what is left.
func (w *Writer) Flush() error {
	w.writeHeader()
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("writing perturbed rows: %w", err)
	}
	return nil
}

// Reader reads rows that a [Writer] wrote.
type Reader struct {
	next   func() ([]string, error) // a row's values in the order of the schema
	places []map[string]uint16
	names  []string
	row    int64
}

// NewReader reads from r. It refuses a file that does not have the schema's columns, and
// values that are not of their domains: perturbed values are always among those.
func NewReader(r io.Reader, s schema.Schema, f Format) (*Reader, error) {
	if _, err := Domains(s); err != nil {
		return nil, err
	}
	out := &Reader{}
	for _, c := range s.Columns {
		place := map[string]uint16{}
		for code, v := range c.Domain() {
			place[v] = uint16(code)
		}
		out.places, out.names = append(out.places, place), append(out.names, c.Name)
	}
	var err error
	if f == JSONL {
		out.next = jsonLines(r, out.names)
	} else {
		out.next, err = csvLines(r, out.names)
	}
	return out, err
}

func csvLines(r io.Reader, names []string) (func() ([]string, error), error) {
	in := csv.NewReader(bufio.NewReaderSize(r, 1<<16))
	in.ReuseRecord = true
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: perturbed rows begin with the names of their columns")
	}
	if err != nil {
		return nil, fmt.Errorf("reading perturbed rows: %w", err)
	}
	header = slices.Clone(header)
	at := make([]int, len(names))
	for i, name := range names {
		if at[i] = slices.Index(header, name); at[i] < 0 {
			return nil, noColumn(name, header)
		}
	}
	row := make([]string, len(names))
	return func() ([]string, error) {
		fields, err := in.Read()
		if err != nil {
			return nil, err
		}
		for i, j := range at {
			row[i] = fields[j]
		}
		return row, nil
	}, nil
}

func noColumn(name string, header []string) error {
	near := ""
	if other := spell.Variant(name, header); other != "" {
		near = fmt.Sprintf(" (but %q)", other)
	}
	return fmt.Errorf("the file has no column %q%s: reconstruct with the schema that perturbed it", name, near)
}

// longest is the maximal length of a line of JSON.
const longest = 1 << 24

func jsonLines(r io.Reader, names []string) func() ([]string, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<16), longest)
	before := make([][]byte, len(names))
	for i, name := range names {
		quoted, _ := json.Marshal(name) // a string has no error
		before[i] = append(append([]byte{','}, quoted...), `:"`...)
	}
	before[0][0] = '{'
	row := make([]string, len(names))
	return func() ([]string, error) {
		for in.Scan() {
			line := bytes.TrimSpace(in.Bytes())
			if len(line) == 0 {
				continue
			}
			if plainLine(line, before, row) {
				return row, nil
			}
			return row, anyLine(line, names, row)
		}
		if err := in.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
}

// plainLine reads a line as [Writer] writes it, without escapes, which is ten times quicker
// than to read any JSON. It reports whether it could.
func plainLine(line []byte, before [][]byte, row []string) bool {
	for i, text := range before {
		rest, ok := bytes.CutPrefix(line, text)
		end := bytes.IndexByte(rest, '"')
		if !ok || end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
			return false
		}
		row[i], line = string(rest[:end]), rest[end+1:]
	}
	return string(line) == "}"
}

func anyLine(line []byte, names, row []string) error {
	var fields map[string]string
	if err := bounded.UnmarshalJSON(line, longest, &fields); err != nil {
		return errors.New("it is not a JSON object of texts")
	}
	for i, name := range names {
		v, ok := fields[name]
		if !ok {
			return fmt.Errorf("it has no column %q", name)
		}
		row[i] = v
	}
	return nil
}

// Read fills rows with the next ones, at most so many. It returns [io.EOF] when there are
// none left.
func (r *Reader) Read(rows *Rows, limit int) error {
	rows.Reset(len(r.names), limit)
	n := 0
	for ; n < limit; n++ {
		fields, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("row %d of the perturbed rows: %w", r.row+1, err)
		}
		r.row++
		for i, v := range fields {
			code, ok := r.places[i][v]
			if !ok {
				// Not the value itself: the file may be a raw one, named by mistake.
				return fmt.Errorf("row %d of the perturbed rows: column %q has a value that is not of its domain, as no perturbed row does: reconstruct what perturb wrote, with its schema", r.row, r.names[i])
			}
			rows.Columns[i][n] = code
		}
	}
	rows.Reset(len(r.names), n)
	if n == 0 {
		return io.EOF
	}
	return nil
}
