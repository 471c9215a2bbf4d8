package main

import (
	"context"
	"math"

	"github.com/sotto-dp/sotto/internal/labels"
	"github.com/sotto-dp/sotto/lm"
)

const (
	questionPrefixes = 8
	questionPrefix   = 300 // tokens
	questionCount    = 400
	questionTokens   = 30
)

// questionLabels are one token each in the models compared.
var questionLabels = []string{"World", "Sports", "Business", "Technology"}

// questionTask is choosing by the records, as tokens: every record asks after each of the
// candidate prompts. Questions of one prefix are next to each other.
func questionTask(count int) measure {
	t := task{Task: "questions", Labels: questionLabels}
	for i := range questionPrefixes {
		t.Prefixes = append(t.Prefixes, tokens(questionPrefix, 1000+i))
	}
	for i := range count {
		t.Own = append(t.Own, tokens(questionTokens, 1+i))
	}
	return measure{task: t, Title: "questions", Per: float64(count), Rate: true, Unit: "questions/s"}
}

// labels returns the token of each label.
func (w *worker) labels(ctx context.Context, t task) (answer, error) {
	var a answer
	for _, l := range t.Labels {
		list, err := w.model.Tokenizer().Encode(ctx, " "+l)
		if err != nil {
			return answer{}, err
		}
		a.Tokens = append(a.Tokens, list...)
	}
	return a, nil
}

// What is chosen by private records asks in passes of so many tokens and sequences.
const (
	passTokens    = 2048
	passSequences = passTokens / 16
)

// questions times all of them from nothing, as choosing by the records asks: the prefixes
// are computed together, and forks of them get the questions, many in a step.
func (w *worker) questions(ctx context.Context, t task) (answer, error) {
	list, err := labels.New(ctx, w.model.Tokenizer(), t.Labels)
	if err != nil {
		return answer{}, err
	}
	session, err := w.model.Open(ctx)
	if err != nil {
		return answer{}, err
	}
	defer session.Close()
	done := timed(session)
	steps := make([]lm.Step, len(t.Prefixes))
	for i, p := range t.Prefixes {
		s, err := session.New()
		if err != nil {
			return answer{}, err
		}
		steps[i] = lm.Step{Sequence: s, Tokens: p}
	}
	if _, err := session.Step(ctx, steps); err != nil {
		return answer{}, err
	}
	options := labels.Options{Can: w.model.Info().Can, Sequences: passSequences}
	each := len(t.Own) / len(t.Prefixes)
	var asked []labels.Prompt
	var scores [][]float64
	flush := func() error {
		some, err := list.Scores(ctx, session, asked, options)
		scores, asked = append(scores, some...), asked[:0]
		return err
	}
	total := 0
	for i, own := range t.Own {
		if total += len(own); total > passTokens && len(asked) > 0 {
			if err := flush(); err != nil {
				return answer{}, err
			}
			total = len(own)
		}
		asked = append(asked, labels.Prompt{From: steps[i/each].Sequence, Tokens: own})
	}
	if err := flush(); err != nil {
		return answer{}, err
	}
	a := done()
	for _, s := range scores {
		for j := range s {
			s[j] = math.Exp(s[j])
		}
	}
	a.Values = scores
	return a, nil
}
