package gguf

import (
	"encoding/binary"
	"fmt"
)

// cursor reads forward through bytes that may be hostile. The first failure
// stays: later reads return zero, so that callers check err once per entry.
type cursor struct {
	data []byte
	pos  int
	err  error
}

func (c *cursor) failAt(pos int, format string, args ...any) {
	if c.err == nil {
		c.err = &FormatError{Offset: int64(pos), What: fmt.Sprintf(format, args...)}
	}
}

func (c *cursor) left() int { return len(c.data) - c.pos }

// take returns the next n bytes, without copying.
func (c *cursor) take(n uint64, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n > uint64(c.left()) {
		c.failAt(c.pos, "%s needs %d bytes, and the file ends after %d: it was cut off or is damaged, so fetch it again",
			what, n, c.left())
		return nil
	}
	b := c.data[c.pos : c.pos+int(n) : c.pos+int(n)]
	c.pos += int(n)
	return b
}

func (c *cursor) uint32(what string) uint32 {
	b := c.take(4, what)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

func (c *cursor) uint64(what string) uint64 {
	b := c.take(8, what)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// bytes reads a length and that many bytes.
func (c *cursor) bytes(what string) []byte {
	return c.take(c.uint64(what), what)
}

// count reads how many entries of at least size bytes follow, and refuses a
// number for which the file is too short.
func (c *cursor) count(what string, size int) int {
	at := c.pos
	n := c.uint64("the number of " + what)
	if c.err == nil && n > uint64(c.left()/size) {
		c.failAt(at, "%d %s cannot fit in the %d bytes that follow: the file was cut off or is damaged, so fetch it again",
			n, what, c.left())
		return 0
	}
	return int(n)
}
