package schema

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unsaid is a value that the words of a row do not tell.
var Unsaid = Value{Code: -1, Discrete: true}

// Row reads a row from its words: what [Wording.Text] writes, with any white space, with the question or
// without it. It has the same words. What words do not tell is not in it: columns that the template leaves
// out are [Unsaid], the label among them, numbers have the digits that are shown, and of several values
// with the same words it has the first. Numbers outside the bounds count as the nearest. It reports false for
// any other text.
func (w *Wording) Row(text string) (Row, bool) {
	r := &parser{Wording: w, text: oneLine(text)}
	// Numbers as a wording writes them come first: "16.8" of two columns is 1 and 6.8, and not 16 and .8.
	for _, r.strict = range []bool{true, false} {
		r.row, r.said, r.steps = make(Row, len(w.columns)), make([]bool, len(w.columns)), maxSteps
		for i := range r.row {
			r.row[i] = Unsaid
		}
		if r.from(0, spot{}) {
			return r.row, true
		}
	}
	return r.row, false
}

// maxSteps bounds the work of reading a text. A template of a hundred columns takes as many steps, unless its
// words can be read in many ways.
const maxSteps = 1 << 14

// parser is the reading of one text: pieces of the template one after the other, and back where what follows
// does not fit.
type parser struct {
	*Wording
	text  string
	row   Row
	said  []bool
	steps int
	// strict: a number is spelt as it would be written, and within the bounds.
	strict bool
}

// spot is how far a text is read. Gap: white space has come since. It is one space of the text, and none at
// its ends.
type spot struct {
	at  int
	gap bool
}

// from reads the text from a piece of the template on.
func (r *parser) from(piece int, s spot) bool {
	if r.steps--; r.steps < 0 {
		return false
	}
	p := r.pieces[piece]
	s, ok := r.literal(p.before, s)
	switch {
	case !ok:
		return false
	case p.column < 0:
		return r.ends(s)
	case r.said[p.column]:
		s, ok = r.literal(r.say(r.row[p.column], p.column, p.form), s)
		return ok && r.from(piece+1, s)
	}
	r.said[p.column] = true
	if p.form == "" && r.columns[p.column].Kind == Numeric && r.number(piece, s) {
		return true
	}
	for code := range r.domains[p.column] {
		if r.value(piece, s, Value{Code: code, Discrete: true}) {
			return true
		}
	}
	if r.value(piece, s, Unsaid) {
		return true
	}
	r.said[p.column], r.row[p.column] = false, Unsaid
	return false
}

// ends reports whether nothing but the question follows.
func (r *parser) ends(s spot) bool {
	if s.at == len(r.text) {
		return true
	}
	s, ok := r.literal(" "+r.question, s)
	return ok && s.at == len(r.text)
}

// value reads the words of a value, and what follows.
func (r *parser) value(piece int, s spot, v Value) bool {
	p := r.pieces[piece]
	s, ok := r.literal(r.say(v, p.column, p.form), s)
	if !ok {
		return false
	}
	r.row[p.column] = v
	return r.from(piece+1, s)
}

// number reads a number as long as can be, and what follows.
func (r *parser) number(piece int, s spot) bool {
	column := r.pieces[piece].column
	c := r.columns[column]
	if s.gap && s.at > 0 {
		if s.at == len(r.text) || r.text[s.at] != ' ' {
			return false
		}
		s.at++
	}
	rest := r.text[s.at:]
	parse, longest := parseNumber, strings.IndexFunc(rest, func(x rune) bool { return !strings.ContainsRune("0123456789.+-eE", x) })
	if c.isDate() {
		parse, longest = newParser(oneLine(c.Format)), len(c.Format)+1 // years may have five digits
	}
	if longest < 0 || longest > len(rest) {
		longest = len(rest)
	}
	for n := longest; n > 0; n-- {
		x, ok := parse(rest[:n])
		if !ok || math.IsNaN(x) {
			continue
		}
		v := Value{Number: max(c.Low, min(c.High, x)) + 0}
		if r.strict && (v.Number != x || oneLine(r.say(v, column, "")) != rest[:n]) {
			continue
		}
		r.row[column] = v
		if r.from(piece+1, spot{at: s.at + n}) {
			return true
		}
	}
	return false
}

// literal reads words as they are, but for white space.
func (r *parser) literal(words string, s spot) (spot, bool) {
	for words != "" {
		x, size := utf8.DecodeRuneInString(words)
		if unicode.IsSpace(x) {
			s.gap = true
		} else {
			if s.gap && s.at > 0 {
				if s.at == len(r.text) || r.text[s.at] != ' ' {
					return s, false
				}
				s.at++
			}
			if s.gap = false; !strings.HasPrefix(r.text[s.at:], words[:size]) {
				return s, false
			}
			s.at += size
		}
		words = words[size:]
	}
	return s, true
}
