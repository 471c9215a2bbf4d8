// Package bounded checks documents before they are decoded: how large they are, how deep they
// are nested, and how many values they have.
//
// A decoder's memory is not bounded by the size of what it reads, and nothing stops it
// while it works. [JSON] looks at the text alone, in one pass and without memory, and
// refuses what no document of ours needs; package document does the same for TOML. [Count] says
// how many values there are, by which a server bounds what strangers send, and [Object] finds the
// members of an object without a copy of any.
package bounded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

const (
	// Depth is the maximal nesting of a document. Ours need five levels.
	Depth = 32
	// Small is the size of the largest document that people write.
	Small = 1 << 20
	// Large is the size of the largest document that programs write: tables of
	// counts, envelopes with signatures, estimates.
	Large = 64 << 20
	// Huge is the size of the largest file that is read whole: journals, estimates.
	Huge = 1 << 30
)

// Error reports a document that is refused before it is decoded.
type Error struct {
	// Line of the document, from 1, or 0.
	Line int
	// Reason states what is wrong, without content.
	Reason string
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return e.Reason
}

func tooDeep(line int) error {
	return &Error{Line: line, Reason: fmt.Sprintf("it is nested more than %d deep", Depth)}
}

func tooLarge(largest int64) error {
	return &Error{Reason: fmt.Sprintf("it is larger than %d bytes", largest)}
}

// JSON checks JSON text, of one value or of several. It does not check that the text is
// JSON: where it is, the depth is right.
func JSON(data []byte, largest int64) error {
	if int64(len(data)) > largest {
		return tooLarge(largest)
	}
	depth, line := 0, 1
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = endOfString(data, i)
		case '\n':
			line++
		case '[', '{':
			if depth++; depth > Depth {
				return tooDeep(line)
			}
		case ']', '}':
			depth--
		}
	}
	return nil
}

// UnmarshalJSON is json.Unmarshal of text that [JSON] accepts.
func UnmarshalJSON(data []byte, largest int64, into any) error {
	if err := JSON(data, largest); err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Read reads all there is, unless that is more than a number of bytes.
func Read(r io.Reader, largest int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, largest+1))
	if err == nil && int64(len(data)) > largest {
		err = tooLarge(largest)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// ReadFile reads a file of at most a number of bytes. It has to be a regular one: a FIFO
// would be waited for without end.
func ReadFile(path string, largest int64) (_ []byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: &Error{Reason: "it is not a file"}}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := Read(f, largest)
	if _, ok := errors.AsType[*Error](err); ok {
		err = &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, err
}
