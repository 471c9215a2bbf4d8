package likelihood

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// Continuation is an output and its prompt: a sequence, which is not changed, followed by
// at least one more token.
type Continuation struct {
	From   lm.Sequence
	Tokens []lm.Token
	Output []lm.Token
}

// Scores are the scores of one output's tokens.
type Scores struct {
	// LogProbs are the log-probabilities of the tokens over the whole vocabulary, each
	// given everything before it.
	LogProbs []float64
	// Best is the most likely token at each position; of equally likely ones, the lowest.
	Best []lm.Token
}

// Score returns the scores of each output. A step extends at most this many sequences; 0
// takes as many as the model does. Score drops the sequences that it forks, also on an
// error.
func Score(ctx context.Context, session lm.Session, info lm.Info, outputs []Continuation, sequences int) ([]Scores, error) {
	for i, q := range outputs {
		if len(q.Tokens) == 0 {
			return nil, fmt.Errorf("output %d has no prompt tokens: move the last one of its sequence there", i)
		}
	}
	score := scorePass{session, info}.walk
	batch := len(outputs)
	if sequences > 0 {
		batch = min(batch, sequences)
	}
	if info.Sequences > 0 {
		batch = min(batch, info.Sequences)
	}
	switch {
	case info.Can.Given:
		score = scorePass{session, info}.once
	case info.Can.All:
		batch = max(1, min(batch, room/(8*max(1, info.Vocabulary))))
	case !info.Can.Top || !info.Can.Candidates:
		return nil, &lm.UnsupportedError{Backend: info.Backend, What: "score known outputs", Missing: "it does not return probabilities over its whole vocabulary; use another model"}
	}
	scores := make([]Scores, 0, len(outputs))
	for part := range slices.Chunk(outputs, max(1, batch)) {
		more, err := withForks(session, part, func(forks []lm.Sequence) ([]Scores, error) { return score(ctx, part, forks) })
		if err != nil {
			return nil, err
		}
		scores = append(scores, more...)
	}
	return scores, nil
}

// room bounds the memory of the distributions that a step returns, in bytes.
const room = 64 << 20

// withForks calls f with a fork for each output, and drops the forks.
func withForks(session lm.Session, outputs []Continuation, f func([]lm.Sequence) ([]Scores, error)) (scores []Scores, err error) {
	var forks []lm.Sequence
	defer func() {
		for _, q := range forks {
			err = errors.Join(err, session.Drop(q))
		}
		if err != nil {
			scores = nil
		}
	}()
	for _, q := range outputs {
		fork, err := session.Fork(q.From)
		if err != nil {
			return nil, err
		}
		forks = append(forks, fork)
	}
	return f(forks)
}

type scorePass struct {
	session lm.Session
	info    lm.Info
}

func (s scorePass) once(ctx context.Context, outputs []Continuation, forks []lm.Sequence) ([]Scores, error) {
	scores := make([]Scores, len(outputs))
	var steps []lm.Step
	var which []int
	for i, q := range outputs {
		if len(q.Output) > 0 {
			steps = append(steps, lm.Step{Sequence: forks[i], Tokens: slices.Concat(q.Tokens, q.Output), Ask: lm.Ask{Given: len(q.Output)}})
			which = append(which, i)
		}
	}
	if len(steps) == 0 {
		return scores, nil
	}
	answers, err := s.session.Step(ctx, steps)
	if err != nil {
		return nil, err
	}
	for j, i := range which {
		scores[i] = Scores{answers[j].LogProbs, answers[j].Best}
	}
	return scores, nil
}

// walk scores one token of every output per step.
func (s scorePass) walk(ctx context.Context, outputs []Continuation, forks []lm.Sequence) ([]Scores, error) {
	scores := make([]Scores, len(outputs))
	for at := 0; ; at++ {
		var steps []lm.Step
		var tokens []lm.Token // the tokens to score
		var which []int
		for i, q := range outputs {
			if at >= len(q.Output) {
				continue
			}
			next := q.Tokens
			if at > 0 {
				next = q.Output[at-1 : at]
			}
			steps = append(steps, lm.Step{Sequence: forks[i], Tokens: next})
			tokens, which = append(tokens, q.Output[at]), append(which, i)
		}
		if len(steps) == 0 {
			return scores, nil
		}
		ask := s.askBeside
		if s.info.Can.All {
			ask = s.askAll
		}
		logs, best, err := ask(ctx, steps, tokens)
		if err != nil {
			return nil, err
		}
		for j, i := range which {
			scores[i].LogProbs = append(scores[i].LogProbs, logs[j])
			scores[i].Best = append(scores[i].Best, best[j])
		}
	}
}

// askAll takes steps and reads the scores of tokens off the whole distribution.
func (s scorePass) askAll(ctx context.Context, steps []lm.Step, tokens []lm.Token) (logs []float64, best []lm.Token, err error) {
	for i := range steps {
		steps[i].Ask = lm.Ask{All: true}
	}
	answers, err := s.session.Step(ctx, steps)
	if err != nil {
		return nil, nil, err
	}
	for i, a := range answers {
		logs, best = append(logs, a.LogProbs[tokens[i]]), append(best, lm.Best(a.LogProbs, 1)[0])
	}
	return logs, best, nil
}

// askBeside takes steps and scores tokens without listing the vocabulary: it gets the best
// token's log-probability, and another token's relative to it.
//
//	log p(token) = log p(best) + log (p(token) / p(best))
func (s scorePass) askBeside(ctx context.Context, steps []lm.Step, tokens []lm.Token) (logs []float64, best []lm.Token, err error) {
	for i := range steps {
		steps[i].Ask = lm.Ask{Top: 1}
	}
	answers, err := s.session.Step(ctx, steps)
	if err != nil {
		return nil, nil, err
	}
	var again []lm.Step
	var which []int
	for i, a := range answers {
		logs, best = append(logs, a.LogProbs[0]), append(best, a.Tokens[0])
		if best[i] != tokens[i] {
			again = append(again, lm.Step{Sequence: steps[i].Sequence, Ask: lm.Ask{Candidates: []lm.Token{tokens[i], best[i]}}})
			which = append(which, i)
		}
	}
	if len(again) == 0 {
		return logs, best, nil
	}
	if answers, err = s.session.Step(ctx, again); err != nil {
		return nil, nil, err
	}
	for j, i := range which {
		logs[i] += answers[j].LogProbs[0] - answers[j].LogProbs[1]
	}
	return logs, best, nil
}
