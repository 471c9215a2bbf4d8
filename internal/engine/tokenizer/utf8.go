package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// repair returns text in which every byte belongs to a character.
//
// Byte-level vocabularies see code points, not bytes, so what is not UTF-8 must
// become something. The reference reads characters by their bit patterns alone: it
// takes over-long forms (written anew in their short form) and surrogates (kept), and
// puts U+FFFD for each byte that no pattern fits. Characters past U+10FFFF fit a
// pattern but cannot be written; there the first byte is treated as one that fits
// none.
func repair(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/4)
	for i := 0; i < len(text); {
		r, size := patternAt(text, i)
		i += size
		if r < 0x800 || r >= 0x10000 {
			b.WriteRune(r)
			continue
		}
		// By hand, because of surrogates.
		b.WriteByte(0xE0 | byte(r>>12))
		b.WriteByte(0x80 | byte(r>>6)&0x3F)
		b.WriteByte(0x80 | byte(r)&0x3F)
	}
	return b.String()
}

// patternAt reads the character that the bits at i describe.
func patternAt(text string, i int) (r rune, size int) {
	first := text[i]
	switch {
	case first < 0x80:
		return rune(first), 1
	case first < 0xC0 || first >= 0xF8:
		return utf8.RuneError, 1
	case first < 0xE0:
		r, size = rune(first&0x1F), 2
	case first < 0xF0:
		r, size = rune(first&0x0F), 3
	default:
		r, size = rune(first&0x07), 4
	}
	if i+size > len(text) {
		return utf8.RuneError, 1
	}
	for _, c := range []byte(text[i+1 : i+size]) {
		if c&0xC0 != 0x80 {
			return utf8.RuneError, 1
		}
		r = r<<6 | rune(c&0x3F)
	}
	if r > maxCodePoint {
		return utf8.RuneError, 1
	}
	return r, size
}

// characterAt reads the character at i of a repaired text.
func characterAt(text string, i int) (r rune, size int) {
	switch first := text[i]; {
	case first < 0x80:
		return rune(first), 1
	case first < 0xE0:
		return rune(first&0x1F)<<6 | rune(text[i+1]&0x3F), 2
	case first < 0xF0:
		return rune(first&0x0F)<<12 | rune(text[i+1]&0x3F)<<6 | rune(text[i+2]&0x3F), 3
	default:
		return rune(first&0x07)<<18 | rune(text[i+1]&0x3F)<<12 | rune(text[i+2]&0x3F)<<6 | rune(text[i+3]&0x3F), 4
	}
}
