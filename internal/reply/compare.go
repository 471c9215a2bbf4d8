package reply

import "strings"

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
	want, begun = Normal(want), Normal(begun)
	// The last rune may be part of one that is not written whole.
	return strings.HasPrefix(want, strings.TrimRight(begun, "\uFFFD"))
}
