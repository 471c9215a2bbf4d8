package decode

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"sotto/lm"
)

// Rules shape texts by what is public: the instruction and the tokens chosen so far.
// They change the public scores and the candidates, never what comes from records, so
// they are free.
type Rules struct {
	// Least tokens before a text may end. Of an answer the first one is more than white
	// space, unless this is 0.
	Least int `json:"least"`
	// Penalty in nats on a token for each time that it is in the text already, up to
	// three times.
	Penalty float64 `json:"penalty,omitempty"`
	// NoRepeat forbids a token that would complete a sequence of this many tokens that
	// is in the text already; 0 allows all.
	NoRepeat int `json:"no_repeat,omitempty"`
	// Contain makes a text hold its condition word for word, as texts do that a phrase is
	// to be found in: it may not end before, and where there is just room left for what is
	// missing, that is filled in. Favour in nats goes to the token that begins the
	// condition, or goes on with it, until it is there. It begins after up to After tokens,
	// how many is drawn for each text: a model that always sees it first looks for it there.
	Contain bool    `json:"contain,omitempty"`
	Favour  float64 `json:"favour,omitempty"`
	After   int     `json:"after,omitempty"`
}

// Check finds what is wrong with rules.
func (r Rules) Check() error {
	if r.Least < 0 || r.After < 0 || r.NoRepeat < 0 || r.NoRepeat == 1 || !(r.Penalty >= 0) || math.IsInf(r.Penalty, 1) || !(r.Favour >= 0) || math.IsInf(r.Favour, 1) {
		return fmt.Errorf("rules for texts must not be negative, and a repeated sequence has at least 2 tokens: %+v", r)
	}
	if (r.Favour > 0 || r.After > 0) && !r.Contain {
		return fmt.Errorf("where a text has its condition is a matter of texts that have to contain it: %+v", r)
	}
	return nil
}

// scored is a token with its public score, before and after the rules.
type scored struct {
	token     lm.Token
	raw, base float64
}

// width is how many of the best tokens rules and margins look at, when there is a
// smaller number of candidates to find among them.
const width = 1024

// candidates applies rules to the public scores and takes those of a choice, in the
// order of their tokens.
func (w *Writer) candidates(ctx context.Context, public lm.Scores, t *text, choice Choice) ([]scored, error) {
	lacks, err := w.lacks(ctx, t)
	if err != nil {
		return nil, err
	}
	if lacks.now {
		return []scored{{token: lacks.next}}, nil
	}
	ranked, err := w.judge(ctx, rank(public, choice.Best), t.tokens, lacks)
	if err != nil {
		return nil, err
	}
	if len(ranked) == 0 && lacks.open {
		return []scored{{token: lacks.next}}, nil
	}
	if len(ranked) == 0 {
		return nil, fmt.Errorf("no token is left to choose from: the model's best ones are all forbidden; allow shorter texts or repetitions")
	}
	if choice.Best > 0 && len(ranked) > choice.Best {
		least := ranked[choice.Best-1].base - choice.Margin
		n := choice.Best
		for n < len(ranked) && ranked[n].base >= least {
			n++
		}
		ranked = ranked[:n]
	}
	slices.SortFunc(ranked, func(a, b scored) int { return int(a.token - b.token) })
	return ranked, nil
}

// rank lists the best tokens of the public scores; all of them for 0.
func rank(public lm.Scores, best int) []scored {
	tokens := public.Tokens
	if tokens == nil {
		n := len(public.LogProbs)
		if best > 0 {
			n = min(n, max(best, width))
		}
		tokens = lm.Best(public.LogProbs, n)
	}
	out := make([]scored, len(tokens))
	for i, t := range tokens {
		lp := 0.
		if public.Tokens == nil {
			lp = public.LogProbs[t]
		} else {
			lp = public.LogProbs[i]
		}
		out[i] = scored{token: t, raw: lp, base: lp}
	}
	return out
}

// judge applies the rules: forbidden tokens go, others are penalised, and the rest is
// in the order of what remains.
func (w *Writer) judge(ctx context.Context, ranked []scored, text []lm.Token, lacks wish) ([]scored, error) {
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
		if w.Answering && w.rules.Least > 0 && len(text) == 0 {
			says, err := w.says(ctx, s.token)
			if err != nil {
				return nil, err
			}
			if !says {
				continue
			}
		}
		if len(text) < w.rules.Least || lacks.open {
			stops, err := w.stops(ctx, tail, s.token)
			if err != nil {
				return nil, err
			}
			if ends || stops {
				continue
			}
		}
		if lacks.open && s.token == lacks.next {
			if lacks.early {
				continue
			}
			s.base += w.rules.Favour
		}
		if !ends {
			s.base -= w.rules.Penalty * float64(min(3, counts[s.token]))
		}
		kept = append(kept, s)
	}
	slices.SortFunc(kept, func(a, b scored) int {
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

// says reports whether a token is more than white space. An answer is paid for, and small
// models like to begin it with that and to end it then.
func (w *Writer) says(ctx context.Context, t lm.Token) (bool, error) {
	spelling, err := w.tokenizer.Decode(ctx, []lm.Token{t})
	if err != nil {
		return false, fmt.Errorf("spell a token: %w", err)
	}
	return strings.TrimSpace(spelling) != "", nil
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
	spelling, err := w.tokenizer.Decode(ctx, []lm.Token{t})
	if err != nil {
		return false, fmt.Errorf("spell a token: %w", err)
	}
	ends := false
	for _, stop := range w.task.Stop {
		ends = ends || strings.Contains(spelling, stop)
	}
	w.ends[t] = ends
	return ends, nil
}

// tail is as much of the end of a text as a stop string that is not complete may have;
// "" where stop strings are single characters.
func (w *Writer) tail(ctx context.Context, text []lm.Token) (string, error) {
	longest := 1
	for _, stop := range w.task.Stop {
		longest = max(longest, len(stop))
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

// stops reports whether a token completes a stop string that a text ends with a part of.
func (w *Writer) stops(ctx context.Context, tail string, t lm.Token) (bool, error) {
	if tail == "" {
		return false, nil
	}
	spelling, err := w.tokenizer.Decode(ctx, []lm.Token{t})
	if err != nil {
		return false, fmt.Errorf("spell a token: %w", err)
	}
	for _, stop := range w.task.Stop {
		if strings.Contains(tail+spelling, stop) {
			return true, nil
		}
	}
	return false, nil
}
