package ensemble

import (
	"context"
	"errors"
	"math"

	"github.com/sotto-dp/sotto/internal/labels"
	"github.com/sotto-dp/sotto/internal/private/decode"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// poll asks prompts for the labels' log-probabilities, each by itself.
type poll struct {
	*round
	list *labels.List
	// questions are the tokens of the one that is asked and, where labels are calibrated, of
	// those without content.
	questions [][]lm.Token
}

func (r *round) newPoll(ctx context.Context, calibrate bool) (*poll, error) {
	list, err := labels.New(ctx, r.tokenizer, r.Task.Labels)
	if err != nil {
		return nil, err
	}
	if err := list.Check(r.Model.Info(), false); err != nil {
		return nil, err
	}
	p := &poll{r, list, [][]lm.Token{r.item}}
	if calibrate {
		for _, input := range prompt.ContentFree() {
			tokens, err := r.layout.Head(ctx, input)
			if err != nil {
				return nil, err
			}
			p.questions = append(p.questions, tokens)
		}
	}
	return p, nil
}

// views draws records for so many looks, and returns what the prompts of each say about the
// labels, beside the public one. The records of a look are read when it is asked for.
func (r *round) views(ctx context.Context, calibrate bool, looks int) (func(look int) (decode.View, error), error) {
	p, err := r.newPoll(ctx, calibrate)
	if err != nil {
		return nil, err
	}
	public, err := p.ask(ctx, [][]lm.Token{nil})
	if err != nil {
		return nil, err
	}
	samples, err := r.draws(looks)
	if err != nil {
		return nil, err
	}
	return func(look int) (decode.View, error) {
		view := decode.View{Public: public[0], Base: public[0], Empty: samples[look].Empty}
		prompts, err := r.demonstrations(ctx, samples[look])
		if err == nil {
			view.Prompts, err = p.ask(ctx, prompts)
		}
		return view, err
	}, nil
}

// ask gives the log-probabilities among the labels that each prompt has for them.
func (p *poll) ask(ctx context.Context, prompts [][]lm.Token) ([][]float64, error) {
	more := p.list.Depth()
	for _, q := range p.questions {
		more += len(q)
	}
	var out [][]float64
	err := p.passes(prompts, more, func(_ int, some [][]lm.Token) error {
		ballots, err := p.pass(ctx, some)
		out = append(out, ballots...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (p *poll) pass(ctx context.Context, prompts [][]lm.Token) (ballots [][]float64, err error) {
	var open []lm.Sequence
	defer func() {
		for _, s := range open {
			err = errors.Join(err, p.session.Drop(s))
		}
	}()
	var steps []lm.Step
	for _, tokens := range prompts {
		s, err := p.session.Fork(p.stem)
		if err != nil {
			return nil, err
		}
		open = append(open, s)
		if len(tokens) > 0 {
			steps = append(steps, lm.Step{Sequence: s, Tokens: tokens})
		}
	}
	if len(steps) > 0 {
		if _, err := p.session.Step(ctx, steps); err != nil {
			return nil, err
		}
	}
	var questions []labels.Prompt
	for _, s := range open {
		for _, q := range p.questions {
			questions = append(questions, labels.Prompt{From: s, Tokens: q})
		}
	}
	info := p.Model.Info()
	scores, err := p.list.Scores(ctx, p.session, questions, labels.Options{Can: info.Can, Sequences: info.Sequences})
	if err != nil {
		return nil, err
	}
	for range prompts {
		ballots = append(ballots, calibrated(scores[0], scores[1:len(p.questions)]))
		scores = scores[len(p.questions):]
	}
	return ballots, nil
}

// calibrated are log-probabilities among labels, divided by the mean probability that
// questions without content give them, if any were asked.
func calibrated(scores []float64, free [][]float64) []float64 {
	out := lm.LogSoftmax(scores)
	if len(free) == 0 {
		return out
	}
	for j := range out {
		var sum float64
		for _, f := range free {
			sum += math.Exp(lm.LogSoftmax(f)[j])
		}
		// Keeps quotients finite where a label is never expected.
		out[j] -= math.Log(max(sum/float64(len(free)), 1e-300))
	}
	return lm.LogSoftmax(out)
}
