package rouge

import "strings"

// irregular words whose stems no rule gives.
var irregular = map[string]string{
	"sky": "sky", "skies": "sky",
	"dying": "die", "lying": "lie", "tying": "tie",
	"news":   "news",
	"inning": "inning", "innings": "inning",
	"outing": "outing", "outings": "outing",
	"canning": "canning", "cannings": "canning",
	"howe":    "howe",
	"proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}

// Stem cuts the endings off a word of lower-case letters and digits by Porter's
// algorithm, with the changes that NLTK's PorterStemmer makes by default: the list of
// irregular words, -ies and -ied of four letters, y after a single consonant, -alli
// before everything else, -bli, -fulli and -logi. Characters that are no letters count
// as consonants.
func Stem(word string) string {
	if stem, ok := irregular[word]; ok {
		return stem
	}
	if len(word) <= 2 {
		return word
	}
	word = plural(word)
	word = past(word)
	word = finalY(word)
	word = doubleSuffix(word)
	word = apply(word, thirdSuffixes, 1)
	word = lastSuffix(word)
	return tidy(word)
}

// consonants reports which characters are consonants: all but vowels, and y where the
// character before it is none.
func consonants(word string) []bool {
	flags := make([]bool, len(word))
	for i := range len(word) {
		switch word[i] {
		case 'a', 'e', 'i', 'o', 'u':
		case 'y':
			flags[i] = i == 0 || !flags[i-1]
		default:
			flags[i] = true
		}
	}
	return flags
}

// measure is Porter's m: how often a consonant follows a vowel.
func measure(stem string) int {
	flags := consonants(stem)
	m := 0
	for i := 1; i < len(flags); i++ {
		if flags[i] && !flags[i-1] {
			m++
		}
	}
	return m
}

func hasVowel(stem string) bool {
	for _, consonant := range consonants(stem) {
		if !consonant {
			return true
		}
	}
	return false
}

// doubled: it ends with the same consonant twice.
func doubled(word string) bool {
	n := len(word)
	return n >= 2 && word[n-1] == word[n-2] && consonants(word)[n-1]
}

// short: it ends with consonant, vowel and consonant, the last not w, x or y; or it is
// just a vowel and a consonant.
func short(word string) bool {
	flags := consonants(word)
	n := len(word)
	switch {
	case n >= 3:
		return flags[n-3] && !flags[n-2] && flags[n-1] && !strings.ContainsRune("wxy", rune(word[n-1]))
	case n == 2:
		return !flags[0] && flags[1]
	}
	return false
}

// plural is step 1a.
func plural(word string) string {
	switch {
	case strings.HasSuffix(word, "ies") && len(word) == 4:
		return word[:len(word)-1]
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "ies"):
		return word[:len(word)-2]
	case strings.HasSuffix(word, "ss"):
		return word
	}
	return strings.TrimSuffix(word, "s")
}

// past is step 1b.
func past(word string) string {
	if stem, ok := strings.CutSuffix(word, "ied"); ok {
		if len(word) == 4 {
			return stem + "ie"
		}
		return stem + "i"
	}
	if stem, ok := strings.CutSuffix(word, "eed"); ok {
		if measure(stem) > 0 {
			return stem + "ee"
		}
		return word
	}
	stem, ok := strings.CutSuffix(word, "ed")
	if !ok {
		stem, ok = strings.CutSuffix(word, "ing")
	}
	if !ok || !hasVowel(stem) {
		return word
	}
	switch {
	case strings.HasSuffix(stem, "at"), strings.HasSuffix(stem, "bl"), strings.HasSuffix(stem, "iz"):
		return stem + "e"
	case doubled(stem):
		if strings.ContainsRune("lsz", rune(stem[len(stem)-1])) {
			return stem
		}
		return stem[:len(stem)-1]
	case measure(stem) == 1 && short(stem):
		return stem + "e"
	}
	return stem
}

// finalY is step 1c.
func finalY(word string) string {
	if stem, ok := strings.CutSuffix(word, "y"); ok && len(stem) > 1 && consonants(stem)[len(stem)-1] {
		return stem + "i"
	}
	return word
}

// rule replaces the suffix from by to.
type rule struct{ from, to string }

// rules reads from:to, with spaces between.
func rules(list string) (out []rule) {
	for _, pair := range strings.Fields(list) {
		from, to, _ := strings.Cut(pair, ":")
		out = append(out, rule{from, to})
	}
	return out
}

// apply takes the first rule whose suffix a word has, and only that one: if what is
// before has a smaller measure than minMeasure, the word stays.
func apply(word string, rules []rule, minMeasure int) string {
	for _, r := range rules {
		if stem, ok := strings.CutSuffix(word, r.from); ok {
			if measure(stem) < minMeasure {
				return word
			}
			return stem + r.to
		}
	}
	return word
}

var doubleSuffixes = rules(`ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent
	eli:e ousli:ous ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al
	iviti:ive biliti:ble fulli:ful`)

// doubleSuffix is step 2.
func doubleSuffix(word string) string {
	if stem, ok := strings.CutSuffix(word, "alli"); ok && measure(stem) > 0 {
		return doubleSuffix(stem + "al")
	}
	if stem, ok := strings.CutSuffix(word, "ogi"); ok && strings.HasSuffix(stem, "l") {
		// The l counts as part of the stem, so that geology is like archaeology.
		if measure(stem) > 0 {
			return stem + "og"
		}
		return word
	}
	return apply(word, doubleSuffixes, 1)
}

var thirdSuffixes = rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")

var lastSuffixes = rules("al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ou: ism: ate: iti: ous: ive: ize:")

// lastSuffix is step 4. Its suffix -ion goes only after s and t.
func lastSuffix(word string) string {
	if stem, ok := strings.CutSuffix(word, "ion"); ok {
		if measure(stem) > 1 && strings.ContainsRune("st", rune(stem[len(stem)-1])) {
			return stem
		}
		return word
	}
	return apply(word, lastSuffixes, 2)
}

// tidy is step 5: an e at the end, and a double l.
func tidy(word string) string {
	if stem, ok := strings.CutSuffix(word, "e"); ok {
		if m := measure(stem); m > 1 || m == 1 && !short(stem) {
			word = stem
		}
	}
	if strings.HasSuffix(word, "ll") && measure(word[:len(word)-1]) > 1 {
		return word[:len(word)-1]
	}
	return word
}
