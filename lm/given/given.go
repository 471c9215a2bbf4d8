package given

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/lm"
)

// Question is an output and what it comes after: a sequence, which stays as it is, and
// tokens to go on with, at least one.
type Question struct {
	From   lm.Sequence
	Tokens []lm.Token
	Output []lm.Token
}

// Line is about the tokens of one output.
type Line struct {
	// LogProbs of each token over the whole vocabulary, after all that is before it.
	LogProbs []float64
	// Best is the most likely token at each place, of equally likely ones the lowest.
	Best []lm.Token
}

// Score returns a line for each question. A step extends at most sequences of them; 0
// takes as many as the model does. What it forks it drops, also on an error.
func Score(ctx context.Context, session lm.Session, info lm.Info, questions []Question, sequences int) ([]Line, error) {
	for i, q := range questions {
		if len(q.Tokens) == 0 {
			return nil, fmt.Errorf("question %d has no tokens of its own: move the last one of its sequence there", i)
		}
	}
	score := scoring{session, info}.walk
	most := len(questions)
	if sequences > 0 {
		most = min(most, sequences)
	}
	if info.Sequences > 0 {
		most = min(most, info.Sequences)
	}
	switch {
	case info.Can.Given:
		score = scoring{session, info}.once
	case info.Can.All:
		most = max(1, min(most, room/(8*max(1, info.Vocabulary))))
	case !info.Can.Top || !info.Can.Candidates:
		return nil, &lm.UnsupportedError{Backend: info.Backend, What: "score known outputs", Missing: "it does not tell probabilities over its whole vocabulary; use another model"}
	}
	lines := make([]Line, 0, len(questions))
	for part := range slices.Chunk(questions, max(1, most)) {
		more, err := forked(session, part, func(forks []lm.Sequence) ([]Line, error) { return score(ctx, part, forks) })
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	return lines, nil
}

// room bounds the memory of whole distributions that a step returns, in bytes.
const room = 64 << 20

// forked calls f with a fork for each question, and drops them.
func forked(session lm.Session, questions []Question, f func([]lm.Sequence) ([]Line, error)) (lines []Line, err error) {
	var forks []lm.Sequence
	defer func() {
		for _, q := range forks {
			err = errors.Join(err, session.Drop(q))
		}
		if err != nil {
			lines = nil
		}
	}()
	for _, q := range questions {
		fork, err := session.Fork(q.From)
		if err != nil {
			return nil, err
		}
		forks = append(forks, fork)
	}
	return f(forks)
}

type scoring struct {
	session lm.Session
	info    lm.Info
}

// once scores all outputs in one pass.
func (s scoring) once(ctx context.Context, questions []Question, forks []lm.Sequence) ([]Line, error) {
	lines := make([]Line, len(questions))
	var steps []lm.Step
	var which []int
	for i, q := range questions {
		if len(q.Output) > 0 {
			steps = append(steps, lm.Step{Sequence: forks[i], Tokens: slices.Concat(q.Tokens, q.Output), Ask: lm.Ask{Given: len(q.Output)}})
			which = append(which, i)
		}
	}
	if len(steps) == 0 {
		return lines, nil
	}
	answers, err := s.session.Step(ctx, steps)
	if err != nil {
		return nil, err
	}
	for j, i := range which {
		lines[i] = Line{answers[j].LogProbs, answers[j].Best}
	}
	return lines, nil
}

// walk scores one token of all outputs a step.
func (s scoring) walk(ctx context.Context, questions []Question, forks []lm.Sequence) ([]Line, error) {
	lines := make([]Line, len(questions))
	for at := 0; ; at++ {
		var steps []lm.Step
		var tokens []lm.Token // that are scored
		var which []int
		for i, q := range questions {
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
			return lines, nil
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
			lines[i].LogProbs = append(lines[i].LogProbs, logs[j])
			lines[i].Best = append(lines[i].Best, best[j])
		}
	}
}

// askAll takes steps and reads the scores of tokens off the whole vocabulary.
func (s scoring) askAll(ctx context.Context, steps []lm.Step, tokens []lm.Token) (logs []float64, best []lm.Token, err error) {
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

// askBeside takes steps and scores tokens without listing the vocabulary: the best token's
// log-probability is told, and another one's asked for beside it.
//
//	log p(token) = log p(best) + log (p(token) / p(best))
func (s scoring) askBeside(ctx context.Context, steps []lm.Step, tokens []lm.Token) (logs []float64, best []lm.Token, err error) {
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
