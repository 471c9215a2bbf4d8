package worth

import (
	"context"
	"errors"
	"slices"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Beside is the value of the same set in the other form.
type Beside struct {
	Form  prompt.Form `json:"form"`
	Value float64     `json:"value"`
	Low   float64     `json:"low"`
	High  float64     `json:"high"`
}

// forms returns how to lay a set's prompts out, the first for the figures of a row: as they were
// chosen, or as turns for a model that chats.
func (e *Evaluation) forms(set Set) []prompt.Form {
	if e.Model == nil { // evidence alone
		return []prompt.Form{prompt.TextForm}
	}
	can := e.Model.Info().Can
	own := prompt.ChatForm
	if set.Chosen != nil && (e.Form == "" || e.Form.Turns() == set.Chosen.Form.Turns()) {
		own = set.Chosen.Form.Name()
	} else if e.Form != "" {
		own = e.Form
	}
	switch {
	case e.Form != "":
		return []prompt.Form{own}
	case set.Chosen != nil && onlyAsChosen(set.Chosen.Evidence.How):
		return []prompt.Form{own}
	case !can.Chat:
		return []prompt.Form{prompt.TextForm}
	case !can.Generate && own.Turns():
		return []prompt.Form{own}
	case !can.Generate:
		return []prompt.Form{prompt.ChatForm}
	case own.Turns():
		return []prompt.Form{own, prompt.TextForm}
	}
	return []prompt.Form{own, prompt.ChatForm}
}

// onlyAsChosen reports whether a way to use evidence has no other form: what is combined needs scores of
// labels, and what answers alone has no form.
func onlyAsChosen(how prompt.How) bool { return how == prompt.Combined || how == prompt.Alone }

// Row answers the questions with one set, in every form that is measured. A chat template
// that has no place for an instruction leaves the other form.
func (e *Evaluation) Row(ctx context.Context, set Set) (Row, error) {
	forms := e.forms(set)
	if asked := e.Normalise || e.Calibrate != nil && *e.Calibrate; asked && !slices.Contains(forms, prompt.TextForm) {
		return Row{}, wrong("answers in turns are what the model writes, which cannot be calibrated or normalised: leave that out, or use the form %s", prompt.TextForm)
	}
	row, err := e.row(ctx, set, forms[0])
	var unsupported *lm.UnsupportedError
	if errors.As(err, &unsupported) && len(forms) > 1 {
		return e.row(ctx, set, forms[1])
	}
	if err != nil || len(forms) == 1 {
		return row, err
	}
	other, err := e.row(ctx, set, forms[1])
	row.Other = &Beside{other.Form, other.Value, other.Low, other.High}
	row.ModelTokens, row.Seconds = row.ModelTokens+other.ModelTokens, row.Seconds+other.Seconds
	row.Rate = float64(2*row.N) / row.Seconds
	return row, err
}
