package tokenizer

import (
	"maps"
	"slices"
	"strings"
)

// pieceEnd returns where the piece that begins at a place of a repaired text ends. Merging works
// on pieces: no token reaches across their borders.
//
// The published rules are regular expressions with look-ahead, which a scanner needs
// no engine for. They are cited where they are written out.
type pieceEnd func(classes *pages, text string, at int) int

// rule describes a pre-tokeniser.
type rule struct {
	cut pieceEnd
	// ignoreMerges: a piece that is a token as a whole is not put together by merges.
	ignoreMerges bool
	// addBOS: texts begin with BOS, unless the file says otherwise.
	addBOS bool
}

var (
	gpt2     = rule{cut: func(p *pages, s string, at int) int { return cutWords(p, s, at, 0) }}
	smollm   = rule{cut: cutDigits}
	llama3   = rule{cut: func(p *pages, s string, at int) int { return cutLines(p, s, at, 3) }, ignoreMerges: true, addBOS: true}
	triplets = rule{cut: llama3.cut}
	qwen2    = rule{cut: func(p *pages, s string, at int) int { return cutLines(p, s, at, 1) }}
	standard = rule{cut: cutDefault}
	gpt4o    = rule{cut: func(p *pages, s string, at int) int { return cutCases(p, s, at, 3, true) }}
	tekken   = rule{cut: func(p *pages, s string, at int) int { return cutCases(p, s, at, 1, false) }, ignoreMerges: true, addBOS: true}
)

// rules are the rules by the names that files use for them.
var rules = func() map[string]rule {
	all := map[string]rule{}
	for _, r := range []struct {
		rule
		names string
	}{
		{standard, "default"},
		{gpt2, "gpt-2 gpt2 exaone4 granite-docling jais mpt olmo phi-2 trillion"},
		{smollm, "smollm codeshell command-r exaone minerva-7b refact starcoder"},
		{llama3, "llama-bpe llama-v3 llama3 falcon3 lfm2"},
		{triplets, "dbrx smaug-bpe"},
		{gpt4o, "gpt-4o llama4 kanana2"},
		{tekken, "tekken"},
		{qwen2, "qwen2 deepseek-r1-qwen hunyuan megrez stablelm2"},
	} {
		for name := range strings.FieldsSeq(r.names) {
			all[name] = r.rule
		}
	}
	return all
}()

func ruleNames() string {
	return strings.Join(slices.Sorted(maps.Keys(rules)), ", ")
}

// look returns the class and the length of the character at i. What lies past the text, or
// is of a class in stop, is its end.
func (p *pages) look(text string, i int, stop class) (class, int) {
	if i >= len(text) {
		return end, 0
	}
	var c class
	size := 1
	if b := text[i]; b < 0x80 {
		c = ascii[b]
	} else {
		var r rune
		r, size = characterAt(text, i)
		c = p.of(r)
	}
	if c&stop != 0 {
		return end, 0
	}
	return c, size
}

// run moves on from i as long as a character is of one of the classes.
func (p *pages) run(text string, i int, of, stop class) int {
	for {
		c, size := p.look(text, i, stop)
		if c&of == 0 {
			return i
		}
		i += size
	}
}

// signs moves on from i over what is neither space nor letter nor number.
func (p *pages) signs(text string, i int, stop class) int {
	for {
		c, size := p.look(text, i, stop)
		if c&(space|letter|number|end) != 0 {
			return i
		}
		i += size
	}
}

// cutWords applies GPT-2's rule,
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// within a stretch of text that ends before the classes in stop.
func cutWords(p *pages, text string, at int, stop class) int {
	if text[at] == '\'' {
		if n := contraction(text[at:], false); n > 0 {
			return at + n
		}
	}
	i := at
	if text[at] == ' ' {
		i++
	}
	switch c, _ := p.look(text, i, stop); {
	case c&letter != 0:
		return p.run(text, i, letter, stop)
	case c&number != 0:
		return p.run(text, i, number, stop)
	case c&(space|end) == 0:
		return p.signs(text, i, stop)
	}
	after, last := p.spaces(text, at, stop)
	if c, _ := p.look(text, after, stop); c != end && last > at {
		return last // \s+(?!\S): the last space belongs to the next piece
	}
	return after
}

// spaces returns where the white space from at ends, and where its last character begins.
func (p *pages) spaces(text string, at int, stop class) (after, last int) {
	after, last = at, at
	for {
		c, size := p.look(text, after, stop)
		if c&space == 0 {
			return after, last
		}
		last = after
		after += size
	}
}

// cutDigits applies StarCoder's and SmolLM's rule: every \p{N} is a piece, and GPT-2's rule
// cuts what lies between them.
func cutDigits(p *pages, text string, at int) int {
	if c, size := p.look(text, at, 0); c&number != 0 {
		return at + size
	}
	return cutWords(p, text, at, number)
}

// cutLines applies Llama 3's rule (digits = 3) or Qwen 2's (digits = 1),
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func cutLines(p *pages, text string, at, digits int) int {
	first := text[at]
	if first == '\'' {
		if n := contraction(text[at:], true); n > 0 {
			return at + n
		}
	}
	c, size := p.look(text, at, 0)
	if c&number != 0 {
		i := at
		for ; digits > 0 && c&number != 0; digits-- {
			i += size
			c, size = p.look(text, i, 0)
		}
		return i
	}
	if first != '\r' && first != '\n' {
		if next, _ := p.look(text, at+size, 0); (c|next)&letter != 0 {
			return p.run(text, at+size, letter, 0)
		}
	}
	i := at
	if first == ' ' {
		i++
	}
	if c, _ := p.look(text, i, 0); c&(space|letter|number|end) == 0 {
		rest := text[p.signs(text, i, 0):]
		return len(text) - len(strings.TrimLeft(rest, "\r\n"))
	}
	after, last := p.spaces(text, at, 0)
	if line := strings.LastIndexAny(text[at:after], "\r\n"); line >= 0 {
		return at + line + 1
	}
	if after < len(text) && last > at {
		return last
	}
	return after
}

// cutCases applies the rule of GPT-4o (digits = 3, with contractions) or Mistral's Tekken
// (digits = 1, without), in llama.cpp's form: a word also ends where a capital follows a
// small letter. U are letters but a to z, and L letters but A to Z.
//
//	[^\r\n\p{L}\p{N}]?U*L+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?U+L*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,digits}|
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func cutCases(p *pages, text string, at, digits int, contracted bool) int {
	start := at
	c, size := p.look(text, at, 0)
	if c&(letter|number) == 0 && text[at] != '\r' && text[at] != '\n' {
		start += size
	}
	if c, _ := p.look(text, start, 0); c&letter != 0 {
		after := p.word(text, start)
		if contracted && after < len(text) && text[after] == '\'' {
			after += contraction(text[after:], true)
		}
		return after
	}
	if c&number == 0 {
		i := at
		if text[at] == ' ' {
			i++
		}
		if c, _ := p.look(text, i, 0); c&(space|letter|number|end) == 0 {
			rest := text[p.signs(text, i, 0):]
			return len(text) - len(strings.TrimLeft(rest, "\r\n/"))
		}
	}
	return cutLines(p, text, at, digits)
}

// word returns where U*L+, or else U+L*, ends that begins with a letter.
func (p *pages) word(text string, at int) int {
	i, last := at, at // last is after the last letter that is in L too
	for {
		c, size := p.look(text, i, 0)
		if c&letter == 0 {
			break
		}
		if b := text[i]; 'a' <= b && b <= 'z' {
			for c&letter != 0 && (text[i] < 'A' || text[i] > 'Z') {
				i += size
				c, size = p.look(text, i, 0)
			}
			return i
		}
		i += size
		if b := text[i-size]; b < 'A' || b > 'Z' {
			last = i
		}
	}
	if last > at {
		return last
	}
	return i
}

// cutDefault cuts as llama.cpp does for models that name no rule: first
// [\p{P}$+<=>^~|]+ are set apart, then GPT-2's rule cuts the rest, then \p{N}+ are set
// apart, and last [0-9][0-9][0-9].
func cutDefault(p *pages, text string, at int) int {
	switch c, size := p.look(text, at, 0); {
	case c&punct != 0:
		return p.run(text, at, punct, 0)
	case c&number != 0:
		return cutTriple(text, at, p.run(text, at, number, 0))
	case text[at] == ' ':
		if next, _ := p.look(text, at+size, 0); next&number != 0 {
			return at + size
		}
	}
	return cutWords(p, text, at, punct)
}

// cutTriple cuts a run of numbers before or after its first three ASCII digits in a
// row.
func cutTriple(text string, at, after int) int {
	digits := 0
	for i := at; i < after; i++ {
		if c := text[i]; c < '0' || c > '9' {
			digits = 0
			continue
		}
		if digits++; digits == 3 {
			if first := i - 2; first > at {
				return first
			}
			return i + 1
		}
	}
	return after
}

var contractions = []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}

// contraction returns the length of the English one that a text begins with, or 0. With
// fold, its letters may be capitals.
func contraction(text string, fold bool) int {
	for _, c := range contractions {
		if strings.HasPrefix(text, c) || fold && len(text) >= len(c) && strings.EqualFold(text[:len(c)], c) {
			return len(c)
		}
	}
	return 0
}
