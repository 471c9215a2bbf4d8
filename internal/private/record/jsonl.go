package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/convert"
	"github.com/sotto-dp/sotto/internal/private/internal/origin"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
)

const byteOrderMark = "\xef\xbb\xbf"

// asJSONL reads a file as one JSON object a line.
func (t *textFile) asJSONL(o *Options) {
	columns := o.columns()
	t.reader = func(in *bufio.Reader, offset int64) rows {
		return &jsonl{in: in, offset: offset, columns: columns}
	}
	t.known = t.firstKeys
}

// firstKeys are the keys of the first object among the first rows.
func (t *textFile) firstKeys() []string {
	in, done, err := t.stream()
	if err != nil {
		return nil
	}
	defer done()
	j := &jsonl{in: bufio.NewReaderSize(in, bufferSize)}
	for range 100 {
		r, err := j.next()
		if err != nil {
			return nil
		}
		if r.bad == 0 {
			return slices.Sorted(maps.Keys(j.seen))
		}
	}
	return nil
}

// note says what the first line is of, if it nests something.
func (t *textFile) note() string {
	if n := origin.Note(t.f); n != "" || t.prepare() != nil || t.header > 0 {
		return n
	}
	in, done, err := t.stream()
	if err != nil {
		return ""
	}
	defer done()
	j := &jsonl{in: bufio.NewReaderSize(in, bufferSize)}
	if _, err := j.next(); err != nil {
		return ""
	}
	return j.what
}

// jsonl reads JSON objects, one a line. Blank lines are no rows.
type jsonl struct {
	in      *bufio.Reader
	offset  int64 // of the next line
	columns []string
	line    []byte
	seen    map[string]struct{}
	sketch  *rowsketch.Rows
	// what tool or program the last line is of, if it nests something.
	what string
}

func (j *jsonl) feed(s *rowsketch.Rows) { j.sketch = s }

func (j *jsonl) next() (*row, error) {
	for {
		start := j.offset
		long, err := j.readLine()
		if err != nil {
			return nil, err
		}
		line := j.line
		if start == 0 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 && !long {
			continue
		}
		r := &row{place: start, cells: make([]value, max(0, len(j.columns)-numRoles))}
		switch {
		case long:
			r.bad = origin.TooLong
		case !utf8.Valid(line):
			r.bad = origin.NotUTF8
		case !json.Valid(line) || line[0] != '{':
			r.bad = origin.NotAnObject
		default:
			line, j.what = convert.Record(line)
			r.bad = j.object(line, r)
			j.endSketch(r.bad)
		}
		return r, nil
	}
}

// endSketch ends a row of the sketch.
func (j *jsonl) endSketch(bad origin.Reason) {
	switch {
	case j.sketch == nil:
	case bad == 0:
		j.sketch.Next()
	default:
		j.sketch.Drop()
	}
}

// readLine reads a line into j.line, or skips it if it is too long.
func (j *jsonl) readLine() (long bool, err error) {
	j.line = j.line[:0]
	for {
		chunk, err := j.in.ReadSlice('\n')
		j.offset += int64(len(chunk))
		if len(j.line)+len(chunk) > maxRow {
			long = true
		} else {
			j.line = append(j.line, chunk...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && (len(j.line) > 0 || long), err == nil:
			return long, nil
		default:
			return false, err
		}
	}
}

// object reads the wanted values of a line that is known to be a valid JSON object.
func (j *jsonl) object(line []byte, r *row) origin.Reason {
	if j.seen == nil {
		j.seen = map[string]struct{}{}
	}
	clear(j.seen)
	for rest := skipSpace(line[1:]); rest[0] != '}'; {
		var token []byte
		token, rest = split(rest)
		key, ok := unquote(token)
		if !ok {
			return origin.NotUTF8
		}
		if _, twice := j.seen[key]; twice {
			return origin.DuplicateKey
		}
		j.seen[key] = struct{}{}
		token, rest = split(skipSpace(skipSpace(rest)[1:]))
		if j.sketch != nil {
			j.note(key, token)
		}
		for role, column := range j.columns {
			if column != key || column == "" {
				continue
			}
			v, ok := valueOf(token)
			if !ok {
				return origin.NotUTF8
			}
			r.set(role, v)
		}
		if rest = skipSpace(rest); rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	return 0
}

// note gives a value to the sketch, unless it holds half of a surrogate pair.
func (j *jsonl) note(key string, token []byte) {
	if token[0] == '"' {
		s, ok := unquote(token)
		if !ok {
			return
		}
		token = []byte(s)
	}
	j.sketch.Add(j.sketch.Column(key), token)
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	return b
}

// split cuts the JSON value that b begins with off valid JSON.
func split(b []byte) (token, rest []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return b[:i], b[i:]
			}
			depth--
		default:
			if depth == 0 && (b[i] == ',' || b[i] == ':' || b[i] <= ' ') {
				return b[:i], b[i:]
			}
			continue
		}
		if depth == 0 {
			return b[:i+1], b[i+1:]
		}
	}
	return b, nil
}

// valueOf reads a JSON value; it is not ok if it holds half of a surrogate pair.
func valueOf(token []byte) (value, bool) {
	switch token[0] {
	case '"':
		s, ok := unquote(token)
		return value{text, s}, ok
	case '{', '[':
		return value{kind: compound}, true
	case 'n':
		return value{kind: absent}, true
	}
	return value{scalar, string(token)}, true
}

// unquote reads a valid JSON string. Unlike encoding/json it does not put U+FFFD in
// the place of half a surrogate pair: what was meant is lost, so the row is malformed.
func unquote(token []byte) (string, bool) {
	b := token[1 : len(token)-1]
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b), true
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			out = append(out, b[i])
			continue
		}
		i++
		if b[i] != 'u' {
			out = append(out, unescaped[b[i]])
			continue
		}
		r := hex4(b[i+1:])
		i += 4
		if utf16.IsSurrogate(r) {
			if i+6 >= len(b) || b[i+1] != '\\' || b[i+2] != 'u' {
				return "", false
			}
			if r = utf16.DecodeRune(r, hex4(b[i+3:])); r == utf8.RuneError {
				return "", false
			}
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), true
}

var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c&^0x20 - 'A' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}
