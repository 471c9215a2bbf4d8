package convert

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Wide reports whether text begins as UTF-16 does: with a mark of the byte order, or with an
// ASCII character of two bytes.
func Wide(head []byte) bool {
	return len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff ||
		head[0] == 0 != (head[1] == 0) && head[0] < 0x80 && head[1] < 0x80)
}

// UTF8 makes UTF-8 of text in UTF-16.
func UTF8(in io.Reader) ([]byte, error) {
	b := bufio.NewReaderSize(in, 1<<16)
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	big := head[0] == 0xfe || head[0] == 0
	if head[0] >= 0xfe {
		_, _ = b.Discard(2) // it was peeked at
	}
	var out bytes.Buffer
	next := func() (uint16, error) {
		var two [2]byte
		if _, err := io.ReadFull(b, two[:]); err != nil {
			if err == io.ErrUnexpectedEOF {
				return 0, refuse("the text is in UTF-16 and ends within a character: copy or save it again")
			}
			return 0, err
		}
		if big {
			return uint16(two[0])<<8 | uint16(two[1]), nil
		}
		return uint16(two[1])<<8 | uint16(two[0]), nil
	}
	for {
		c, err := next()
		if err == io.EOF {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		r := rune(c)
		if utf16.IsSurrogate(r) {
			d, err := next()
			if err != nil && err != io.EOF {
				return nil, err
			}
			if r = utf16.DecodeRune(r, rune(d)); r == utf8.RuneError {
				return nil, refuse("the text looks like UTF-16 and is not valid: save it in UTF-8")
			}
		}
		if out.Len() > Largest {
			return nil, errLarge
		}
		out.WriteRune(r)
	}
}
