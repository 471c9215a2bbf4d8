package bert

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// spans are ranges of code points, both ends included, in rising order.
type spans [][2]rune

func (s spans) has(r rune) bool {
	_, found := slices.BinarySearchFunc(s, r, func(span [2]rune, r rune) int {
		switch {
		case span[1] < r:
			return -1
		case span[0] > r:
			return 1
		}
		return 0
	})
	return found
}

// The classes of tables.go are pinned, not taken from package unicode: the model's
// tokeniser has those of an older Unicode, and a newer Go must not change vectors.

func isDropped(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
	}
	return dropped.has(r)
}

func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7f && !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	}
	return punctuation.has(r)
}

// isGap reports whether a rune separates words. Some runes that count as space are dropped
// before.
func isGap(r rune) bool { return unicode.IsSpace(r) && !isDropped(r) }

// clean spells a piece of text without gaps as the vocabulary does: lower case,
// no accents, nothing invisible. A space sets words apart. Text can be cleaned gap
// by gap because no character combines across one.
//
// A model of upper and lower case keeps both, and one may keep accents.
func (t *tokenizer) clean(piece string) string {
	switch {
	case plain(piece) && t.lower:
		return strings.ToLower(piece)
	case plain(piece):
		return piece
	}
	var b strings.Builder
	b.Grow(len(piece) + 8)
	for _, r := range piece {
		switch {
		case isDropped(r):
		case ideographs.has(r):
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	spelled := b.String()
	if t.strip {
		spelled = strings.Map(func(r rune) rune {
			if marks.has(r) {
				return -1
			}
			return r
		}, norm.NFD.String(spelled))
	}
	if t.lower {
		spelled = strings.Map(unicode.ToLower, spelled)
	}
	return spelled
}

// plain reports whether all bytes are visible ASCII.
func plain(piece string) bool {
	for i := range len(piece) {
		if piece[i] <= ' ' || piece[i] >= 0x7f {
			return false
		}
	}
	return true
}

// eachWord calls use with the words of a cleaned piece until it returns false.
func eachWord(cleaned string, use func(word string) bool) bool {
	start := 0
	word := func(end int) bool { return start == end || use(cleaned[start:end]) }
	for i, r := range cleaned {
		gap, alone := r == ' ', isPunctuation(r)
		if !gap && !alone {
			continue
		}
		if !word(i) {
			return false
		}
		start = i + utf8.RuneLen(r)
		if alone && !use(cleaned[i:start]) {
			return false
		}
	}
	return word(len(cleaned))
}
