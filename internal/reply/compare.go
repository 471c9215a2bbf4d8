package reply

import (
	"strings"
	"unicode/utf8"
)

// Same reports whether an answer is the expected one: in any case, with any white space between
// its words. It is the metric exact_match. Nothing is never an answer.
func Same(want, got string) bool {
	want = Normal(want)
	return want != "" && want == Normal(got)
}

// Normal puts a text in lower case, with one space for each run of white space between its words.
func Normal(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// canBecome reports whether a text whose end is still to be written may become the same as another.
func canBecome(want, begun string) bool {
	return strings.HasPrefix(Normal(want), Normal(complete(begun)))
}

// complete is a text without what may be a part of the rune at its end.
func complete(text string) string {
	for text != "" {
		r, size := utf8.DecodeLastRuneInString(text)
		if r != utf8.RuneError {
			break
		}
		text = text[:len(text)-size]
	}
	return text
}
