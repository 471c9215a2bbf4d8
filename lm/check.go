package lm

import "fmt"

// CheckSteps reports what is wrong with steps before any work is done, the same for every
// back-end. length returns the number of tokens of a sequence, and whether it exists.
func CheckSteps(info Info, steps []Step, length func(Sequence) (int, bool)) error {
	if limit := info.Sequences; limit > 0 && len(steps) > limit {
		return &StepError{Step: limit, Why: fmt.Sprintf("%s extends at most %d sequences at once, not %d", info.Backend, limit, len(steps))}
	}
	seen := make(map[Sequence]struct{}, len(steps))
	for i, s := range steps {
		have, ok := length(s.Sequence)
		if !ok {
			return &StepError{Step: i, Why: "cannot extend", Err: ErrUnknownSequence}
		}
		if _, twice := seen[s.Sequence]; twice {
			return &StepError{Step: i, Why: "the sequence is named twice: put its tokens into one step"}
		}
		seen[s.Sequence] = struct{}{}
		if have+len(s.Tokens) > info.Context {
			return &ContextError{Step: i, Have: have, Adding: len(s.Tokens), Limit: info.Context}
		}
		for _, t := range s.Tokens {
			if t < 0 || int(t) >= info.Vocabulary {
				return &StepError{Step: i, Why: fmt.Sprintf("a token is outside the vocabulary of %d: was it made by another model's tokeniser?", info.Vocabulary)}
			}
		}
		if have+len(s.Tokens) == 0 {
			return &StepError{Step: i, Why: "an empty sequence has no next token to ask for: begin with the tokeniser's Beginning, or some text"}
		}
		if err := checkAsk(info, i, s.Ask, len(s.Tokens)); err != nil {
			return err
		}
	}
	return nil
}

func checkAsk(info Info, step int, a Ask, tokens int) error {
	set := 0
	for _, is := range []bool{a.Candidates != nil, a.Top != 0, a.All, a.Given != 0} {
		if is {
			set++
		}
	}
	if set > 1 {
		return &StepError{Step: step, Why: "ask for candidates, for the best tokens, for all or for given tokens, not for several of these at once"}
	}
	if a.Given != 0 {
		return checkGiven(info, step, a.Given, tokens)
	}
	if a.All && !info.Can.All {
		return &UnsupportedError{Backend: info.Backend, What: "give the whole distribution", Missing: "ask for candidates or for the best tokens"}
	}
	if a.Top < 0 || a.Top > info.Vocabulary {
		return &StepError{Step: step, Why: fmt.Sprintf("the number of best tokens must lie between 1 and the vocabulary's %d", info.Vocabulary)}
	}
	if a.Top > 0 && !info.Can.Top {
		return &UnsupportedError{Backend: info.Backend, What: "give the best tokens", Missing: "it does not return log-probabilities"}
	}
	if limit := info.Top; limit > 0 && a.Top > limit {
		return &UnsupportedError{Backend: info.Backend, What: fmt.Sprintf("give the best %d tokens", a.Top), Missing: fmt.Sprintf("it gives at most %d", limit)}
	}
	if a.Candidates == nil {
		return nil
	}
	if !info.Can.Candidates {
		return &UnsupportedError{Backend: info.Backend, What: "score chosen tokens", Missing: "it only returns its own best tokens"}
	}
	if len(a.Candidates) == 0 {
		return &StepError{Step: step, Why: "the list of candidates is empty"}
	}
	seen := make(map[Token]struct{}, len(a.Candidates))
	for _, t := range a.Candidates {
		if t < 0 || int(t) >= info.Vocabulary {
			return &StepError{Step: step, Why: fmt.Sprintf("a candidate is outside the vocabulary of %d", info.Vocabulary)}
		}
		if _, twice := seen[t]; twice {
			return &StepError{Step: step, Why: "a candidate is listed twice"}
		}
		seen[t] = struct{}{}
	}
	return nil
}

func checkGiven(info Info, step, given, tokens int) error {
	if !info.Can.Given {
		return &UnsupportedError{Backend: info.Backend, What: "score given tokens in one pass", Missing: "ask for the next token's scores, one token a step"}
	}
	if given < 0 || given >= tokens {
		return &StepError{Step: step, Why: fmt.Sprintf("of a step's %d tokens at least 1 and at most %d can be asked for as given, not %d: put the token before the first given one into the step", tokens, max(tokens-1, 0), given)}
	}
	return nil
}
