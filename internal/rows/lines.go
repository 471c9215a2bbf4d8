package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/rows/convert"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// Lines reads JSON objects, one a line. Blank lines are no rows.
type Lines struct {
	in      *bufio.Reader
	offset  int64 // of the next line
	columns []string
	sink    Sink
	line    []byte
	// Keys are those of the last row.
	Keys map[string]struct{}
}

// NewLines reads JSON lines whose first byte is at an offset. The sink may be nil.
func NewLines(in *bufio.Reader, offset int64, columns []string, sink Sink) *Lines {
	return &Lines{in: in, offset: offset, columns: columns, sink: sink, Keys: map[string]struct{}{}}
}

// Next reads a row.
func (j *Lines) Next() (*Row, error) {
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
		r := &Row{Place: start, Values: make([]Value, len(j.columns))}
		switch {
		case long:
			r.Bad = origin.TooLong
		case !utf8.Valid(line):
			r.Bad = origin.NotUTF8
		case !json.Valid(line) || line[0] != '{':
			r.Bad = origin.NotAnObject
		default:
			r.Bad = j.object(convert.Record(line), r)
			if j.sink != nil {
				j.sink.End(r.Bad == 0)
			}
		}
		return r, nil
	}
}

// readLine reads a line into j.line, or skips it if it is too long.
func (j *Lines) readLine() (long bool, err error) {
	j.line = j.line[:0]
	for {
		chunk, err := j.in.ReadSlice('\n')
		j.offset += int64(len(chunk))
		if len(j.line)+len(chunk) > MaxRow {
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
func (j *Lines) object(line []byte, r *Row) origin.Reason {
	clear(j.Keys)
	for rest := skipSpace(line[1:]); rest[0] != '}'; {
		var token []byte
		token, rest = split(rest)
		key, ok := unquote(token)
		if !ok {
			return origin.NotUTF8
		}
		if _, twice := j.Keys[key]; twice {
			return origin.DuplicateKey
		}
		j.Keys[key] = struct{}{}
		token, rest = split(skipSpace(skipSpace(rest)[1:]))
		if j.sink != nil {
			j.note(key, token)
		}
		for i, column := range j.columns {
			if column != key || column == "" {
				continue
			}
			v, ok := valueOf(token)
			if !ok {
				return origin.NotUTF8
			}
			r.Values[i] = v
		}
		if rest = skipSpace(rest); rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	return 0
}

// note gives a value to the sink, unless it holds half of a surrogate pair.
func (j *Lines) note(key string, token []byte) {
	if token[0] == '"' {
		s, ok := unquote(token)
		if !ok {
			return
		}
		token = []byte(s)
	}
	j.sink.Cell(-1, key, token)
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
func valueOf(token []byte) (Value, bool) {
	switch token[0] {
	case '"':
		s, ok := unquote(token)
		return Value{Text, s}, ok
	case '{', '[':
		return Value{Kind: Compound}, true
	case 'n':
		return Value{Kind: Absent}, true
	}
	return Value{Scalar, string(token)}, true
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
