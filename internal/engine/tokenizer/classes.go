package tokenizer

import (
	"sync"
	"unicode"
)

// class is the class of a character in the cutting rules.
type class uint8

const (
	letter class = 1 << iota // \p{L}
	number                   // \p{N}
	space                    // \s
	punct                    // what the rule "default" sets apart: \p{P} and $+<=>^~|
	end                      // past the end of the text
)

// The reference (llama.cpp) has the tables of Unicode 15.1, Go has 15.0. Among the
// classes above they differ in one block, CJK Unified Ideographs Extension I. A test
// compares the class of every code point with the reference: it will say so when a
// newer Go brings newer tables.
const (
	extensionFirst = 0x2EBF0
	extensionLast  = 0x2EE5D
)

const maxCodePoint = 0x10FFFF

// ascii holds the classes of single bytes.
var ascii = func() (table [128]class) {
	for r := range rune(128) {
		table[r] = classify(r)
	}
	return table
}()

func classify(r rune) class {
	var c class
	switch {
	case unicode.Is(unicode.L, r), extensionFirst <= r && r <= extensionLast:
		c = letter
	case unicode.Is(unicode.N, r):
		c = number
	case unicode.Is(unicode.P, r):
		c = punct
	case r == '$', r == '+', '<' <= r && r <= '>', r == '^', r == '~', r == '|':
		c = punct
	}
	if unicode.Is(unicode.White_Space, r) {
		c |= space
	}
	return c
}

const pageBits = 8

// pages holds the classes of all characters. Equal pages are stored once.
type pages struct {
	index [(maxCodePoint + 1) >> pageBits]uint16
	pages [][1 << pageBits]class
}

var classes = sync.OnceValue(func() *pages {
	p := &pages{}
	known := map[[1 << pageBits]class]uint16{}
	for i := range p.index {
		var page [1 << pageBits]class
		for j := range page {
			page[j] = classify(rune(i<<pageBits | j))
		}
		at, ok := known[page]
		if !ok {
			at = uint16(len(p.pages))
			known[page] = at
			p.pages = append(p.pages, page)
		}
		p.index[i] = at
	}
	return p
})

func (p *pages) of(r rune) class {
	return p.pages[p.index[r>>pageBits]][r&(1<<pageBits-1)]
}
