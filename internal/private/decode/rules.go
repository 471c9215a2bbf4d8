package decode

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

// Rules shape texts by what is public: the instruction and the tokens chosen so far.
// They change the public scores and the candidates, never what comes from records, so
// they are free.
type Rules struct {
	// MinTokens before a text may end. Of an answer the first one is more than white
	// space, unless this is 0.
	MinTokens int `json:"min_tokens"`
	// Penalty in nats on a token for each time that it is in the text already, up to
	// three times.
	Penalty float64 `json:"penalty,omitempty"`
	// NoRepeat forbids a token that would complete a sequence of this many tokens that
	// is in the text already; 0 allows all.
	NoRepeat int `json:"no_repeat,omitempty"`
	// Contain makes a text hold its condition word for word, as texts do that a phrase is
	// to be found in: it may not end before, and where there is just room left for what is
	// missing, that is filled in. Favour in nats goes to the token that begins the
	// condition, or continues with it, until it is there. It begins after up to After tokens,
	// how many is drawn for each text: a model that always sees it first looks for it there.
	Contain bool    `json:"contain,omitempty"`
	Favour  float64 `json:"favour,omitempty"`
	After   int     `json:"after,omitempty"`
	// Within so many tokens from there the condition begins: the favour grows up to four
	// times what it is, and then the condition is due, so that there is room to continue; and
	// a text does not end right after it. 0 leaves it until there is just room.
	Within int `json:"within,omitempty"`
	// Fields ends a text where it names a field of the prompt, such as "Message:", as a
	// stop string does: the model has continued to another demonstration.
	Fields bool `json:"fields,omitempty"`
	// Close in nats goes to what ends a sentence, or the text after one, growing over the
	// last quarter of a text, or the last 12 tokens. A text that comes to its limit in mid-sentence is
	// released up to its last sentence, if that is at least half of it.
	Close float64 `json:"close,omitempty"`
}

// Check finds what is wrong with rules.
func (r Rules) Check() error {
	whole := min(r.MinTokens, r.After, r.Within, r.NoRepeat) >= 0 && r.NoRepeat != 1
	nats := min(r.Penalty, r.Favour, r.Close) >= 0 && !math.IsInf(max(r.Penalty, r.Favour, r.Close), 1)
	if !whole || !nats {
		return fmt.Errorf("rules for texts must not be negative, and a repeated sequence has at least 2 tokens: %+v", r)
	}
	if (r.Favour > 0 || r.After > 0 || r.Within > 0) && !r.Contain {
		return fmt.Errorf("where a text has its condition is a matter of texts that have to contain it: %+v", r)
	}
	return nil
}

// candidate is a token with its public score, before and after the rules.
type candidate struct {
	token     lm.Token
	raw, base float64
}

// width is how many of the best tokens rules and margins look at, when there is a
// smaller number of candidates to find among them.
const width = 1024

// candidates applies rules to the public scores and takes those of a choice, in the
// order of their tokens.
func (w *Writer) candidates(ctx context.Context, public lm.Scores, t *text, choice Shortlist) ([]candidate, error) {
	lacks, err := w.lacks(ctx, t)
	if err != nil {
		return nil, err
	}
	if lacks.now {
		return []candidate{{token: lacks.next}}, nil
	}
	ranked, err := w.judge(ctx, rank(public, choice.Best), t.tokens, lacks)
	if err != nil {
		return nil, err
	}
	if len(ranked) == 0 && lacks.shut { // the model has nothing but letters to say
		lacks.shut = false
		if ranked, err = w.judge(ctx, rank(public, choice.Best), t.tokens, lacks); err != nil {
			return nil, err
		}
	}
	if len(ranked) == 0 && lacks.open {
		return []candidate{{token: lacks.next}}, nil
	}
	if len(ranked) == 0 {
		return nil, fmt.Errorf("no token is left to choose from: the model's best ones are all forbidden; allow shorter texts or repetitions")
	}
	if choice.Best > 0 && len(ranked) > choice.Best {
		threshold := ranked[choice.Best-1].base - choice.Margin
		n := choice.Best
		for n < len(ranked) && ranked[n].base >= threshold {
			n++
		}
		ranked = ranked[:n]
	}
	slices.SortFunc(ranked, func(a, b candidate) int { return int(a.token - b.token) })
	return ranked, nil
}

// rank lists the best tokens of the public scores; all of them for 0.
func rank(public lm.Scores, best int) []candidate {
	tokens := public.Tokens
	if tokens == nil {
		n := len(public.LogProbs)
		if best > 0 {
			n = min(n, max(best, width))
		}
		tokens = lm.Best(public.LogProbs, n)
	}
	out := make([]candidate, len(tokens))
	for i, t := range tokens {
		lp := 0.
		if public.Tokens == nil {
			lp = public.LogProbs[t]
		} else {
			lp = public.LogProbs[i]
		}
		out[i] = candidate{token: t, raw: lp, base: lp}
	}
	return out
}

// judge applies the rules: forbidden tokens go, others are penalised, and the rest is
// in the order of what remains.
func (w *Writer) judge(ctx context.Context, ranked []candidate, text []lm.Token, lacks wish) ([]candidate, error) {
	counts := map[lm.Token]int{}
	for _, t := range text {
		counts[t]++
	}
	forbidden := w.rules.repeats(text)
	if lacks.begun { // what the text has to contain may repeat itself
		delete(forbidden, lacks.next)
	}
	tail, err := w.tail(ctx, text)
	if err != nil {
		return nil, err
	}
	closing := w.closing(text)
	kept := ranked[:0]
	for _, s := range ranked {
		if math.IsInf(s.raw, -1) || math.IsNaN(s.raw) || forbidden[s.token] {
			continue
		}
		ends, err := w.ending(ctx, s.token)
		if err != nil {
			return nil, err
		}
		if !ends && w.tokenizer.Control(s.token) {
			continue
		}
		spelling, err := w.spelling(ctx, s.token)
		if err != nil {
			return nil, err
		}
		// An answer is paid for, and small models like to begin it with white space and to end
		// it then.
		if w.Answering && w.rules.MinTokens > 0 && len(text) == 0 && strings.TrimSpace(spelling) == "" {
			continue
		}
		if allowed, err := w.allowed(ctx, text, tail, spelling, ends, lacks); err != nil {
			return nil, err
		} else if !allowed {
			continue
		}
		if lacks.open && s.token == lacks.next {
			if lacks.early {
				continue
			}
			s.base += lacks.favour
		}
		if !ends {
			s.base -= w.rules.Penalty * float64(min(3, counts[s.token]))
		}
		if closing > 0 && !lacks.open && closes(tail, spelling, ends) {
			s.base += closing
		}
		kept = append(kept, s)
	}
	slices.SortFunc(kept, func(a, b candidate) int {
		switch {
		case a.base > b.base:
			return -1
		case a.base < b.base:
			return 1
		}
		return int(a.token - b.token)
	})
	return kept, nil
}

// allowed reports whether a token may follow: one that ends a text not before it has the
// least number of tokens and holds its condition, nor right after that by the rule Within,
// and one that continues with the last word of a condition never.
func (w *Writer) allowed(ctx context.Context, text []lm.Token, tail, spelling string, ends bool, lacks wish) (bool, error) {
	if lacks.shut && !ends && joins(spelling) {
		return false, nil
	}
	if ends || w.stops(tail, spelling) {
		goesOn := lacks.shut && w.rules.Within > 0
		return len(text) >= w.rules.MinTokens && !lacks.open && !goesOn, nil
	}
	if !w.fielded(tail, spelling) {
		return true, nil
	}
	return w.fieldMayEnd(ctx, text, spelling, lacks)
}

// spelling of one token.
func (w *Writer) spelling(ctx context.Context, t lm.Token) (string, error) {
	if spelling, known := w.spelt[t]; known {
		return spelling, nil
	}
	spelling, err := w.tokenizer.Decode(ctx, []lm.Token{t})
	if err != nil {
		return "", fmt.Errorf("spell a token: %w", err)
	}
	if w.spelt == nil {
		w.spelt = map[lm.Token]string{}
	}
	w.spelt[t] = spelling
	return spelling, nil
}

// repeats are the tokens that would complete a sequence that the text has already.
func (r Rules) repeats(text []lm.Token) map[lm.Token]bool {
	out := map[lm.Token]bool{}
	n := r.NoRepeat
	if n == 0 || len(text) < n {
		return out
	}
	last := text[len(text)-n+1:]
	for i := 0; i+n <= len(text); i++ {
		if slices.Equal(text[i:i+n-1], last) {
			out[text[i+n-1]] = true
		}
	}
	return out
}

// ending reports whether a token ends a text: the model's own marks, and tokens that
// hold a stop string.
func (w *Writer) ending(ctx context.Context, t lm.Token) (bool, error) {
	if ends, known := w.ends[t]; known {
		return ends, nil
	}
	spelling, err := w.spelling(ctx, t)
	if err != nil {
		return false, err
	}
	ends := false
	for _, stop := range w.task.Stop {
		ends = ends || strings.Contains(spelling, stop)
	}
	w.ends[t] = ends
	return ends, nil
}

// tail is as much of the end of a text as rules look at: what may be a part of a stop string,
// of a field or of a sentence's end; "" where stop strings are single characters and there
// is no such rule.
func (w *Writer) tail(ctx context.Context, text []lm.Token) (string, error) {
	longest := 1
	for _, stop := range w.task.Stop {
		longest = max(longest, len(stop))
	}
	if w.rules.Fields || w.rules.Close > 0 {
		longest = max(longest, lookBack)
	}
	if longest == 1 {
		return "", nil
	}
	spelling, err := w.tokenizer.Decode(ctx, text)
	if err != nil {
		return "", fmt.Errorf("spell the text so far: %w", err)
	}
	return spelling[max(0, len(spelling)-longest+1):], nil
}

// lookBack in bytes is beyond the longest name of a field that people give.
const lookBack = 120

// stops reports whether a token completes a stop string that a text ends with a part of.
func (w *Writer) stops(tail, spelling string) bool {
	return tail != "" && slices.ContainsFunc(w.task.Stop, func(stop string) bool {
		return strings.Contains(tail[max(0, len(tail)-len(stop)+1):]+spelling, stop)
	})
}

// fielded reports whether a token completes the name of a field, by the rule Fields.
func (w *Writer) fielded(tail, spelling string) bool {
	if !strings.Contains(spelling, ":") {
		return false
	}
	_, found := w.fields.Cut(tail + spelling)
	return found
}

// fieldMayEnd reports whether a text may end before a field that the token of this spelling
// completes: if what comes before has the least number of tokens and all that it lacks.
func (w *Writer) fieldMayEnd(ctx context.Context, text []lm.Token, spelling string, lacks wish) (bool, error) {
	all, err := w.tokenizer.Decode(ctx, text)
	if err != nil {
		return false, fmt.Errorf("spell the text so far: %w", err)
	}
	before, _ := w.fields.Cut(all + spelling)
	if lacks.open || strings.TrimSpace(before) == "" {
		return false, nil
	}
	if lacks.phrase != "" && !w.holds(before, lacks.phrase) {
		return false, nil
	}
	n := 0
	for at := 0; n < len(text) && at < len(before); n++ {
		spelt, err := w.spelling(ctx, text[n])
		if err != nil {
			return false, err
		}
		at += len(spelt)
	}
	return n >= w.rules.MinTokens, nil
}

// cut ends a text at the first stop string, or field of the prompt.
func (w *Writer) cut(text string) (string, bool) {
	text, stopped := w.task.Cut(text)
	before, named := w.fields.Cut(text)
	return before, stopped || named
}
