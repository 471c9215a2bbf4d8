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

// wish is what a text still lacks of its condition, by the rule Contain. It follows from
// the condition and the tokens chosen so far, which are public.
type wish struct {
	// open: the condition is not in the text yet, so the text may not end.
	open bool
	// next is the token that begins it or continues with it.
	next lm.Token
	// begun: the text ends with a beginning of it.
	begun bool
	// early: it is not to begin yet.
	early bool
	// now: with any other token there might not be room for it any more, or it is due.
	now bool
	// favour of next.
	favour float64
	// shut: the text ends with the condition and has it nowhere else, so that no letter may
	// follow: "war" is not in "warm".
	shut bool
	// phrase is the condition, whether it is in the text or not; "" if it need not be.
	phrase string
}

// wanted is a condition as it would be in a released text; "" for one that cannot be,
// since it would end the text.
func (w *Writer) wanted(condition string) string {
	condition = strings.TrimSpace(w.line(strings.ToValidUTF8(condition, "")))
	if _, stops := w.cut(condition); stops {
		return ""
	}
	return condition
}

// holds reports whether a text, once released, has a condition in it, in capitals or not,
// and not as a part of longer words.
func (w *Writer) holds(spelling, wanted string) bool {
	n, _ := w.found(spelling, wanted)
	return n > 0
}

// found is how often a text, once released, has a condition in it, and whether it ends with
// that.
func (w *Writer) found(spelling, wanted string) (n int, last bool) {
	text, wanted := strings.ToLower(w.tidy(spelling)), strings.ToLower(wanted)
	for from := 0; ; {
		i := strings.Index(text[from:], wanted)
		if i < 0 || wanted == "" {
			return n, last
		}
		start, end := from+i, from+i+len(wanted)
		if wordBreak(text[:start], wanted) && wordBreak(wanted, text[end:]) {
			n++
			last = end == len(text)
		}
		_, size := utf8.DecodeRuneInString(text[start:])
		from = start + size
	}
}

// wordBreak reports whether the end of a and the beginning of b are not of one word. Scripts
// that are written without spaces have no such words.
func wordBreak(a, b string) bool {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	return a == "" || b == "" || !inWord(last) || !inWord(first)
}

// joins reports whether a token may continue with the word before it: with a letter, or with a
// part of one.
func joins(spelling string) bool {
	first, _ := utf8.DecodeRuneInString(spelling)
	return spelling != "" && (first == utf8.RuneError || inWord(first))
}

func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) &&
		!unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// phrase are the tokens of a condition within a text; nil unless texts have to contain it,
// and for one that has no tokens.
func (w *Writer) phrase(ctx context.Context, condition string) ([]lm.Token, error) {
	wanted := w.wanted(condition)
	if !w.rules.Contain || wanted == "" {
		return nil, nil
	}
	// Some tokenisers put a space before whatever they are given.
	for _, form := range []string{" " + wanted, wanted} {
		tokens, err := w.tokenizer.Encode(ctx, form)
		if err != nil {
			return nil, fmt.Errorf("the condition of a text: %w", err)
		}
		spelling, err := w.tokenizer.Decode(ctx, tokens)
		if err != nil {
			return nil, fmt.Errorf("spell the condition of a text: %w", err)
		}
		if !strings.HasPrefix(spelling, "  ") && w.holds(spelling, wanted) {
			return tokens, nil
		}
	}
	return nil, nil
}

// after is how many tokens come before the condition, if texts have to contain it: any
// number up to the rule's, so that the place says nothing.
func (w *Writer) after(index uint64) int {
	if !w.rules.Contain || w.rules.After == 0 {
		return 0
	}
	return int(w.Key.Stream("after", index).Uint64n(uint64(w.rules.After) + 1))
}

// lacks returns what a text lacks. A condition that does not fit into a text is not waited
// for. One that does is never given up: as long as it is not due, there is room for all of
// it after any further token, and once it is, only its own tokens follow.
func (w *Writer) lacks(ctx context.Context, t *text) (wish, error) {
	room := w.Tokens - len(t.tokens)
	if len(t.phrase) == 0 || len(t.phrase) > w.Tokens {
		return wish{}, nil
	}
	spelling, err := w.tokenizer.Decode(ctx, t.tokens)
	if err != nil {
		return wish{}, fmt.Errorf("spell the text so far: %w", err)
	}
	wanted := w.wanted(t.Condition)
	if n, last := w.found(spelling, wanted); n > 0 {
		return wish{phrase: wanted, shut: n == 1 && last && strings.TrimSpace(spelling) == strings.TrimLeft(spelling, " \t\n")}, nil
	}
	begun := 0
	for k := min(len(t.tokens), len(t.phrase)-1); k > 0; k-- {
		if slices.Equal(t.tokens[len(t.tokens)-k:], t.phrase[:k]) {
			begun = k
			break
		}
	}
	due := w.rules.Within > 0 && len(t.tokens) >= t.after+w.rules.Within
	return wish{
		open: true, next: t.phrase[begun], begun: begun > 0,
		now: due || room <= len(t.phrase), early: begun == 0 && len(t.tokens) < t.after,
		favour: w.favour(len(t.tokens)-begun-t.after, begun > 0), phrase: wanted,
	}, nil
}

// favour of the condition so many tokens after its first place. What is begun is to be
// completed: half a phrase, and all of it later, is what nobody writes.
func (w *Writer) favour(past int, begun bool) float64 {
	if w.rules.Within == 0 || past < 0 {
		return w.rules.Favour
	}
	grown := min(1, float64(past)/float64(w.rules.Within))
	if begun {
		grown = 1
	}
	return w.rules.Favour * (1 + 3*grown)
}
