package tokenizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// blank is how SentencePiece vocabularies spell a space.
const blank = "▁"

// sentencePiece merges characters into tokens, those with the highest score first
// (Kudo and Richardson 2018, in its BPE form), and falls back to bytes.
type sentencePiece struct {
	ids    map[string]int32 // of text
	orders []uint32         // by token: the rank of its score
	bytes  [256]lm.Token
	prefix bool
	inside inside
	cache  *cache
}

func newSentencePiece(c *Config, v *vocabulary) (*sentencePiece, error) {
	m := &sentencePiece{
		ids:    make(map[string]int32, len(c.Tokens)),
		orders: ranks(c.Scores),
		prefix: c.AddSpacePrefix,
		inside: inside{others: map[uint64]struct{}{}},
		cache:  newCache(),
	}
	for b := range m.bytes {
		id, ok := v.ids[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			id, ok = v.ids[string([]byte{byte(b)})]
		}
		if !ok {
			return nil, wrong("vocabulary", "has no token for the byte 0x%02X: SentencePiece vocabularies without byte tokens are not supported", b)
		}
		m.bytes[b] = lm.Token(id)
	}
	for id, text := range c.Tokens {
		if text == "" || v.marks[id] || v.types[id] == Byte {
			continue
		}
		m.ids[text] = int32(id)
		m.inside.add(text)
	}
	return m, nil
}

// ranks numbers scores from the highest; equal ones share a rank.
func ranks(scores []float32) []uint32 {
	distinct := slices.Clone(scores)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	out := make([]uint32, len(scores))
	for i, s := range scores {
		at, _ := slices.BinarySearch(distinct, s)
		out[i] = uint32(len(distinct) - 1 - at)
	}
	return out
}

func (m *sentencePiece) join(text string, left, right part) (int32, uint32) {
	id, ok := m.ids[text[left.start:right.end]]
	if !ok {
		return 0, never
	}
	return id, m.orders[id]
}

func (m *sentencePiece) encode(tokens []lm.Token, text string) []lm.Token {
	if m.prefix {
		text = " " + text
	}
	text = strings.ReplaceAll(text, " ", blank)
	start, previous := 0, unit(0)
	for i := 0; i < len(text); {
		u, size := unitAt(text, i)
		if i > start && !m.inside.has(previous, u) {
			tokens = m.cache.through(tokens, text[start:i], m.merged)
			start = i
		}
		i, previous = i+size, u
	}
	return m.cache.through(tokens, text[start:], m.merged)
}

func (m *sentencePiece) merged(tokens []lm.Token, text string) []lm.Token {
	w := workPool.Get().(*work)
	defer w.release()
	w.parts = w.parts[:0]
	for i := 0; i < len(text); {
		_, size := unitAt(text, i)
		id, ok := m.ids[text[i:i+size]]
		if !ok {
			id = -1
		}
		w.parts = append(w.parts, part{id, int32(i), int32(i + size)})
		i += size
	}
	w.merge(text, m)
	for _, p := range w.parts {
		if p.symbol >= 0 {
			tokens = append(tokens, lm.Token(p.symbol))
			continue
		}
		for _, b := range []byte(text[p.start:p.end]) {
			tokens = append(tokens, m.bytes[b])
		}
	}
	return tokens
}

// unit is a part that merging begins with: a character, or up to four bytes that are none.
type unit uint32

// unitAt reads as many bytes as the first one announces, whatever they are.
func unitAt(text string, i int) (unit, int) {
	first := text[i]
	if first < 0xC0 {
		return unit(first), 1
	}
	size := 2
	if first >= 0xF0 {
		size = 4
	} else if first >= 0xE0 {
		size = 3
	}
	size = min(size, len(text)-i)
	var u unit
	for _, b := range []byte(text[i : i+size]) {
		u = u<<8 | unit(b)
	}
	return u, size
}

// inside holds the pairs of units that are neighbours within some token. Merging cannot
// reach across other pairs, so text is cut there and its pieces are encoded one by one.
type inside struct {
	ascii  [128][128]bool // with ' ' for a blank
	others map[uint64]struct{}
}

const blankUnit = unit(0xE29681)

func (n *inside) add(text string) {
	previous, size := unitAt(text, 0)
	for i := size; i < len(text); i += size {
		var u unit
		u, size = unitAt(text, i)
		if a, b, ok := small(previous, u); ok {
			n.ascii[a][b] = true
		} else {
			n.others[uint64(previous)<<32|uint64(u)] = struct{}{}
		}
		previous = u
	}
}

func (n *inside) has(left, right unit) bool {
	if a, b, ok := small(left, right); ok {
		return n.ascii[a][b]
	}
	_, ok := n.others[uint64(left)<<32|uint64(right)]
	return ok
}

// small returns the place of a pair in the table.
func small(left, right unit) (a, b unit, ok bool) {
	if left == blankUnit {
		left = ' '
	}
	if right == blankUnit {
		right = ' '
	}
	return left, right, left < 128 && right < 128
}
