package document

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Flaw says what is wrong with something that should be one line of text; "" if nothing is.
func Flaw(s string) string {
	switch {
	case s == "":
		return "it is missing"
	case !utf8.ValidString(s):
		return "it is not UTF-8"
	case strings.ContainsAny(s, "\n\r"):
		return "it has a line break in it"
	case strings.TrimSpace(s) == "":
		return "it is blank"
	case strings.TrimSpace(s) != s:
		return "it has spaces around it"
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		return "it has a control character in it"
	}
	return ""
}

// Shorten quotes a value in a message only as far as it helps.
func Shorten(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// Quote lists values in a message, the first few of many.
func Quote(list []string) string {
	const most = 8
	var b strings.Builder
	for i, s := range list {
		if i == most && len(list) > most+1 {
			fmt.Fprintf(&b, " and %d more", len(list)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", Shorten(s))
	}
	return b.String()
}
