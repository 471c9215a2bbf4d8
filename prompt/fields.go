package prompt

import (
	"regexp"
	"slices"
	"strings"
)

// Fields finds fields of a task's prompts within texts, as in "Thank you. Message: Hello".
// A model that writes one has continued with the next demonstration. The zero value finds
// none.
type Fields struct{ mark *regexp.Regexp }

// Fields returns the fields of both templates: the lines that end with a colon.
func (t Task) Fields() Fields {
	var names []string
	for _, l := range []layout{t.generation(), t.answering()} {
		for _, p := range l {
			for line := range strings.Lines(p.before) {
				name, named := strings.CutSuffix(strings.TrimSpace(line), ":")
				words := strings.Fields(name)
				for i, word := range words {
					words[i] = regexp.QuoteMeta(word)
				}
				if name = strings.Join(words, `\s+`); named && name != "" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	if len(names) == 0 {
		return Fields{}
	}
	// The longest first, so that the field is cut off with all of its name; in capitals or
	// not; and with what puts emphasis on it, as in "**Message:**" and "[Message]:".
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	return Fields{regexp.MustCompile(`(?i)(?:^|[^\pL\pN])((?:` + strings.Join(names, "|") + `)[*_\]})"']*\s*:)`)}
}

// Cut returns what comes before the first field in a text, and whether there is one.
func (f Fields) Cut(text string) (before string, found bool) {
	if f.mark == nil {
		return text, false
	}
	at := f.mark.FindStringSubmatchIndex(text)
	if at == nil {
		return text, false
	}
	return strings.TrimRight(strings.TrimRight(text[:at[2]], "*_[{(\"'"), "#*- \t\n"), true
}
