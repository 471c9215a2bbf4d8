package decode

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/lm"
)

// nearLimit is how many tokens before its limit a text should look for an end, by the rule
// Close: a quarter of what it may have, and no more than a short sentence.
func nearLimit(tokens int) int { return min(12, max(2, tokens/4)) }

// closing is what is added to tokens that end a sentence, or a text after one, and 0 as long as the
// limit is not near: it grows up to the rule's Close at the last token.
func (w *Writer) closing(tokens []lm.Token) float64 {
	near, room := nearLimit(w.Tokens), w.Tokens-len(tokens)
	if w.rules.Close == 0 || room > near || len(tokens) < w.rules.MinTokens {
		return 0
	}
	return w.rules.Close * float64(near-room+1) / float64(near)
}

// closes reports whether a token ends a sentence, or the text after one.
func closes(tail, spelling string, ends bool) bool {
	if ends {
		return complete(tail)
	}
	return strings.ContainsAny(spelling, sentenceMarks) && complete(tail+spelling)
}

// sentenceMarks end sentences.
const sentenceMarks = ".!?…。！？؟।"

// sentences is a text that its limit ended, without the beginning of a sentence that it has
// at its end: the tokens up to the last end of a sentence. It is all of them where there is
// no such end in the second half, where less than MinTokens or not all of the condition
// would be left, and for a text that ended by itself.
func (w *Writer) sentences(ctx context.Context, t *text) ([]lm.Token, error) {
	tokens := t.tokens
	if w.rules.Close == 0 || len(tokens) < w.Tokens || w.ends[tokens[len(tokens)-1]] {
		return tokens, nil
	}
	spell := func(tokens []lm.Token) (string, error) {
		text, err := w.tokenizer.Decode(ctx, tokens)
		if err != nil {
			return "", fmt.Errorf("spell the text: %w", err)
		}
		return text, nil
	}
	all, err := spell(tokens)
	if err != nil {
		return nil, err
	}
	if _, stopped := w.cut(all); stopped || complete(all) {
		return tokens, nil
	}
	wanted := ""
	if len(t.phrase) > 0 && w.holds(all, w.wanted(t.Condition)) {
		wanted = w.wanted(t.Condition)
	}
	for n := len(tokens) - 1; n >= max(1, w.rules.MinTokens, (len(tokens)+1)/2); n-- {
		text, err := spell(tokens[:n])
		if err != nil {
			return nil, err
		}
		next, _ := utf8.DecodeRuneInString(strings.TrimPrefix(all, text))
		if strings.HasPrefix(all, text) && unicode.IsSpace(next) && complete(text) && (wanted == "" || w.holds(text, wanted)) {
			return tokens[:n], nil
		}
	}
	return tokens, nil
}

// complete reports whether a text ends with a sentence: with a mark that ends one, quotes
// and brackets aside. A full stop after a single letter, a number or a short form may be
// part of the next word.
func complete(text string) bool {
	text = strings.TrimRight(text, " \t\"'”’»)]*")
	last, size := utf8.DecodeLastRuneInString(text)
	if !strings.ContainsRune(sentenceMarks, last) {
		return false
	}
	if last != '.' {
		return true
	}
	text = text[:len(text)-size]
	word := text[strings.LastIndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' })+1:]
	if _, err := fmt.Sscanf(word, "%d", new(int)); err == nil || word == "" {
		return strings.HasSuffix(text, ".") // three dots
	}
	return utf8.RuneCountInString(word) > 1 && !slices.Contains(shortForms, strings.ToLower(word))
}

// shortForms are written with a full stop in mid-sentence.
var shortForms = []string{"mr", "mrs", "ms", "dr", "prof", "st", "vs", "no", "nr", "e.g", "i.e", "cf", "approx", "dept", "gen", "sen", "rep", "jr", "sr"}
