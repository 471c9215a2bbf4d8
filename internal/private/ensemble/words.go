package ensemble

import (
	"slices"
	"strings"
	"unicode"
)

// stopWords say little about what a text is about. The list is public.
var stopWords = func() map[string]bool {
	list := strings.Fields(`a about above after again all also am an and any are as at be because been before being
		below between both but by can could did do does doing don down during each for from further had has have
		having he her here hers him his how i if in into is it its itself just me more most my no nor not now of
		off on once only or other our ours out over own s same she should so some such t than that the their
		theirs them then there these they this those through to too under until up very was we were what when
		where which while who whom why will with would you your yours ll re ve d m`)
	out := make(map[string]bool, len(list))
	for _, w := range list {
		out[w] = true
	}
	return out
}()

// words returns the words of a text, in lower case, each once, without stop words, in the order
// of the alphabet.
func words(text string) []string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	all = slices.DeleteFunc(all, func(w string) bool { return stopWords[w] })
	slices.Sort(all)
	return slices.Compact(all)
}

// tally counts in how many texts words are.
type tally map[string]int64

// count adds a text so many times.
func (t tally) count(text string, times int) {
	for _, w := range words(text) {
		t[w] += int64(times)
	}
}

// tallied counts the words of what prompts wrote, and of the public text for those that
// are empty.
func tallied(written []string, public string, empty int) tally {
	t := tally{}
	for _, text := range written {
		t.count(text, 1)
	}
	if empty > 0 {
		t.count(public, empty)
	}
	return t
}

// of are the counts of a list of words.
func (t tally) of(list []string) []int64 {
	out := make([]int64, len(list))
	for i, w := range list {
		out[i] = t[w]
	}
	return out
}
