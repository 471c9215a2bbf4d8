package tokenizer

import (
	"regexp"
	"strings"
)

// canonical rewrites a Jinja template so that those that print the same in the same
// way look the same:
//
//   - comments and white space in code are gone;
//   - text outside of code is an expression, {{"text"}};
//   - literals are in double quotes, with their escapes resolved (a double quote
//     within is the character quoteMark);
//   - message["role"] is message.role;
//   - neighbouring expressions are one sum, and neighbouring literals in a sum one
//     literal.
//
// White space around blocks is dropped as chat templates expect it (Jinja's options
// trim_blocks and lstrip_blocks). What is not well-formed gives "".
func canonical(template string) string {
	blocks, ok := blocksOf(template)
	if !ok {
		return ""
	}
	var b strings.Builder
	open := false // within an expression
	sum := func(code string) {
		if open {
			b.WriteByte('+')
		} else {
			b.WriteString("{{")
		}
		b.WriteString(code)
		open = true
	}
	for _, block := range blocks {
		switch block.kind {
		case '#':
		case '%':
			if open {
				b.WriteString("}}")
				open = false
			}
			b.WriteString("{%" + block.code + "%}")
		case '{':
			sum(block.code)
		default:
			if block.code != "" {
				sum(quoted(block.code))
			}
		}
	}
	if open {
		b.WriteString("}}")
	}
	// A literal never holds a double quote, so this joins two of them.
	return strings.ReplaceAll(b.String(), `"+"`, "")
}

// quoteMark stands for a double quote within a literal.
const quoteMark = "\x01"

func quoted(text string) string {
	return `"` + strings.ReplaceAll(text, `"`, quoteMark) + `"`
}

// block is a block of a template: '%' statement, '{' expression, '#' comment, or 0 text.
type block struct {
	kind byte
	code string
}

func blocksOf(template string) ([]block, bool) {
	var blocks []block
	trimNext, cutLine := false, false
	for template != "" {
		at := nextOpening(template)
		text, rest := template[:at], template[at:]
		atLine := len(blocks) == 0 // text begins a line
		if trimNext {
			text = strings.TrimLeft(text, " \t\r\n")
		} else if cutLine {
			text, atLine = strings.CutPrefix(text, "\n")
		}
		if rest == "" {
			return append(blocks, block{code: text}), true
		}
		kind := rest[1]
		body, after, ok := cutBlock(rest[2:], kind)
		if !ok {
			return nil, false
		}
		switch {
		case strings.HasPrefix(body, "-"):
			text = strings.TrimRight(text, " \t\r\n")
			body = body[1:]
		case kind != '{':
			// Blanks before a statement that begins its line.
			if line := strings.TrimRight(text, " \t"); line == "" && atLine || strings.HasSuffix(line, "\n") {
				text = line
			}
		}
		trimNext = strings.HasSuffix(body, "-")
		cutLine = kind != '{'
		body = strings.TrimSuffix(body, "-")
		code := ""
		if kind != '#' {
			if code, ok = compact(body); !ok {
				return nil, false
			}
		}
		blocks = append(blocks, block{code: text}, block{kind, code})
		template = after
	}
	return blocks, true
}

// nextOpening finds the next block, or the end.
func nextOpening(template string) int {
	for i := 0; i+1 < len(template); i++ {
		if template[i] == '{' && strings.IndexByte("{%#", template[i+1]) >= 0 {
			return i
		}
	}
	return len(template)
}

// cutBlock finds the end of a block; braces in literals do not end it.
func cutBlock(text string, kind byte) (body, after string, ok bool) {
	closing := string(kind) + "}"
	if kind == '{' {
		closing = "}}"
	}
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case strings.HasPrefix(text[i:], closing):
			return text[:i], text[i+2:], true
		case kind != '#' && (c == '\'' || c == '"'):
			quote = c
		}
	}
	return "", "", false
}

// compact writes code without white space and with literals in one form.
func compact(code string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case ' ', '\t', '\r', '\n':
		case '\'', '"':
			text, length, ok := literal(code[i:])
			if !ok {
				return "", false
			}
			b.WriteString(quoted(text))
			i += length - 1
		default:
			b.WriteByte(c)
		}
	}
	out := b.String()
	for _, key := range []string{"role", "content"} {
		out = strings.ReplaceAll(out, `["`+key+`"]`, "."+key)
	}
	return out, true
}

// literal reads a string of Jinja.
func literal(code string) (text string, length int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(code); i++ {
		switch c := code[i]; {
		case c == code[0]:
			return b.String(), i + 1, true
		case c == '\\' && i+1 < len(code):
			i++
			switch e := code[i]; e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '\\', '\'', '"':
				b.WriteByte(e)
			default:
				b.WriteByte('\\')
				b.WriteByte(e)
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}

// pattern compiles what a canonical template has to look like as a whole. It is
// written as the template, with
//
//	…          for anything,
//	⟨name⟩     for the text of a literal, and
//	⟦name:…⟧   for what may be left out.
func pattern(text string) *regexp.Regexp {
	text = regexp.QuoteMeta(text)
	text = regexp.MustCompile(`⟦(\w+):`).ReplaceAllString(text, "(?P<$1>")
	text = regexp.MustCompile(`⟨(\w+)⟩`).ReplaceAllString(text, `(?P<$1>[^"]*)`)
	text = strings.NewReplacer("⟧", ")?", "…", ".*?").Replace(text)
	return regexp.MustCompile("(?s)^(?:" + text + ")$")
}

// match returns the texts of the named parts of a pattern; nil if the template does not
// match it.
func match(p *regexp.Regexp, template string) map[string]string {
	found := p.FindStringSubmatch(template)
	if found == nil {
		return nil
	}
	parts := map[string]string{}
	for i, name := range p.SubexpNames() {
		if name != "" {
			parts[name] = strings.ReplaceAll(found[i], quoteMark, `"`)
		}
	}
	return parts
}
