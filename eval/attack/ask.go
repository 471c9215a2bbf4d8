package attack

import (
	"context"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Likelier returns how much likelier a model finds a text after each record than after none, as
// logarithms: in the layout in which records are shown to a model that writes.
func Likelier(ctx context.Context, m lm.Scorer, t prompt.Task, text prompt.Example, after []prompt.Example) ([]float64, error) {
	r, err := newReader(m, t)
	if err != nil {
		return nil, err
	}
	return r.writes(ctx, text, after)
}

// OwnLabels returns the log-probability of each record's own label, with demonstrations in the prompt.
func OwnLabels(ctx context.Context, m lm.Scorer, t prompt.Task, demos, of []prompt.Example) ([]float64, error) {
	r, err := newReader(m, t)
	if err != nil {
		return nil, err
	}
	return r.answers(ctx, demos, of)
}
