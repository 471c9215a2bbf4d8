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
	// early: it is not to begin yet.
	early bool
	// now: there is just room for what is missing.
	now bool
}

// phrase are the tokens of a condition within a text; nil unless texts have to contain it.
func (w *Writer) phrase(ctx context.Context, condition string) ([]lm.Token, error) {
	if condition = strings.TrimSpace(condition); !w.rules.Contain || condition == "" {
		return nil, nil
	}
	tokens, err := w.tokenizer.Encode(ctx, " "+condition)
	if err != nil {
		return nil, fmt.Errorf("the condition of a text: %w", err)
	}
	return tokens, nil
}

// after is how many tokens come before the condition, if texts have to contain it: any
// number up to the rule's, so that the place says nothing.
func (w *Writer) after(index uint64) int {
	if !w.rules.Contain || w.rules.After == 0 {
		return 0
	}
	return int(w.Key.Stream("after", index).Uint64n(uint64(w.rules.After) + 1))
}

// lacks tells what a text lacks. A condition that does not fit into a text, or that could
// only be completed past the limit, is not waited for.
func (w *Writer) lacks(ctx context.Context, t *text) (wish, error) {
	if len(t.phrase) == 0 || len(t.phrase) > w.Tokens {
		return wish{}, nil
	}
	spelling, err := w.tokenizer.Decode(ctx, t.tokens)
	if err != nil {
		return wish{}, fmt.Errorf("spell the text so far: %w", err)
	}
	if strings.Contains(strings.ToLower(spelling), strings.ToLower(strings.TrimSpace(t.Condition))) {
		return wish{}, nil
	}
	begun := 0
	for k := min(len(t.tokens), len(t.phrase)-1); k > 0; k-- {
		if slices.Equal(t.tokens[len(t.tokens)-k:], t.phrase[:k]) {
			begun = k
			break
		}
	}
	room := w.Tokens - len(t.tokens) - (len(t.phrase) - begun)
	if room < 0 {
		return wish{}, nil
	}
	return wish{open: true, next: t.phrase[begun], now: room == 0, early: begun == 0 && len(t.tokens) < t.after}, nil
}
