package decode

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sotto/lm"
)

// wish is what a text still lacks of its condition, by the rule Contain. It follows from
// the condition and the tokens chosen so far, which are public.
type wish struct {
	// open: the condition is not in the text yet, so the text may not end.
	open bool
	// next is the token that begins it or goes on with it.
	next lm.Token
	// begun: the text ends with a beginning of it.
	begun bool
	// early: it is not to begin yet.
	early bool
	// now: with any other token there might not be room for it any more.
	now bool
}

// wanted is a condition as it would be in a released text; "" for one that cannot be,
// since it would end the text.
func (w *Writer) wanted(condition string) string {
	condition = strings.TrimSpace(w.line(strings.ToValidUTF8(condition, "")))
	if _, stops := w.task.Cut(condition); stops {
		return ""
	}
	return condition
}

// holds reports whether a text, once released, has a condition in it, in capitals or not.
func (w *Writer) holds(spelling, wanted string) bool {
	return strings.Contains(strings.ToLower(w.tidy(spelling)), strings.ToLower(wanted))
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

// lacks tells what a text lacks. A condition that does not fit into a text is not waited
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
	if w.holds(spelling, w.wanted(t.Condition)) {
		return wish{}, nil
	}
	begun := 0
	for k := min(len(t.tokens), len(t.phrase)-1); k > 0; k-- {
		if slices.Equal(t.tokens[len(t.tokens)-k:], t.phrase[:k]) {
			begun = k
			break
		}
	}
	return wish{
		open: true, next: t.phrase[begun], begun: begun > 0,
		now: room <= len(t.phrase), early: begun == 0 && len(t.tokens) < t.after,
	}, nil
}
