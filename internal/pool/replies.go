package pool

import (
	"regexp"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/prompt"
)

// objects returns the JSON objects of a reply, wherever they are in it: a line each, in a
// list, between words or marks of code. What is cut off at the end is left out.
func objects(reply string) (out []map[string]any) {
	const maxObjects, hopeless = 256, 16
	failed := 0
	for at := 0; len(out) < maxObjects && failed < hopeless; {
		begin := strings.IndexByte(reply[at:], '{')
		if begin < 0 {
			return out
		}
		begin += at
		end := closing(reply[begin:])
		var o map[string]any
		if end > 0 && bounded.UnmarshalJSON([]byte(reply[begin:begin+end]), bounded.Small, &o) == nil {
			out, at = append(out, o), begin+end
			continue
		}
		failed, at = failed+1, begin+1
	}
	return out
}

// closing returns where the object ends that a text begins with; 0 if it does not.
func closing(s string) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// under returns the text that an object has under one of some names.
func under(o map[string]any, names ...string) string {
	for _, name := range names {
		for k, v := range o {
			if text, ok := v.(string); ok && strings.EqualFold(k, name) {
				return text
			}
		}
	}
	return ""
}

// pick returns the text under one of some names, or the only one there is.
func pick(o map[string]any, names ...string) string {
	if text := under(o, names...); text != "" || len(o) != 1 {
		return text
	}
	for _, v := range o {
		if text, ok := v.(string); ok {
			return text
		}
	}
	return ""
}

// item is how lines of lists begin.
var item = regexp.MustCompile(`^\s*(?:[-*•]\s+|\(?\d{1,3}[.):\]]\s*)`)

// textsOf returns the texts of a reply: of its JSON objects, of a list in JSON, or of a
// list's lines.
func textsOf(reply string) (out []string) {
	for _, o := range objects(reply) {
		out = append(out, pick(o, "input", "text", "instruction", "output"))
	}
	if len(out) > 0 {
		return out
	}
	if begin, end := strings.IndexByte(reply, '['), strings.LastIndexByte(reply, ']'); begin >= 0 && end > begin {
		if bounded.UnmarshalJSON([]byte(reply[begin:end+1]), bounded.Small, &out) == nil && len(out) > 0 {
			return out
		}
	}
	var items, lines []string
	for line := range strings.Lines(reply) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "```") {
			continue
		}
		if mark := item.FindString(line); mark != "" {
			items = append(items, line[len(mark):])
		} else if !strings.HasSuffix(line, ":") { // "Here they are:"
			lines = append(lines, line)
		}
	}
	if len(items) > 0 {
		return items
	}
	return lines
}

// blocks are pairs that are laid out with the names of their fields, a line or more each.
func (r *replyReader) blocks(reply string) (out []prompt.Example) {
	t := r.task
	names := func(list ...string) *regexp.Regexp {
		for i, n := range list {
			list[i] = regexp.QuoteMeta(n)
		}
		return regexp.MustCompile(`^(?i)[*_\[("']*(?:` + strings.Join(list, "|") + `)[*_\])"']*\s*:[*_]*\s*`)
	}
	input := names(t.Answer.Input, "input", "text")
	output := names(t.Answer.Output, "output", "label", "phrase")
	var e prompt.Example
	var to *string
	for line := range strings.Lines(reply) {
		line = item.ReplaceAllString(strings.TrimSpace(line), "")
		switch {
		case input.MatchString(line):
			if e.Output != "" {
				out = append(out, e)
			}
			e = prompt.Example{Input: input.ReplaceAllString(line, "")}
			to = &e.Input
		case output.MatchString(line):
			e.Output = output.ReplaceAllString(line, "")
			to = &e.Output
		case line == "" && to == &e.Output:
			to = nil
		case to != nil && line != "":
			*to = strings.TrimSpace(*to + "\n" + line)
		}
	}
	if e.Output != "" {
		out = append(out, e)
	}
	return out
}
