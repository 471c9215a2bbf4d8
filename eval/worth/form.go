package worth

import (
	"context"
	"errors"

	"github.com/sotto-dp/sotto/lm"
)

// Form is how a prompt is laid out for a model.
type Form string

// The forms, as releases ship them.
const (
	// Chat: turns of a conversation, as in chat.json.
	Chat Form = "chat"
	// Text: one text that the model goes on with, as in prompt.txt.
	Text Form = "prompt"
)

// Beside is the value of the same set in the other form.
type Beside struct {
	Form  Form    `json:"form"`
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// forms returns how to lay prompts out, the first for the figures of a row.
func (e *Evaluation) forms() []Form {
	can := e.Model.Info().Can
	switch {
	case e.Form != "":
		return []Form{e.Form}
	case can.Chat && can.Generate:
		return []Form{Chat, Text}
	case can.Chat:
		return []Form{Chat}
	}
	return []Form{Text}
}

// Row answers the questions with one set, in every form that is measured. A chat template
// that has no place for an instruction leaves the other form.
func (e *Evaluation) Row(ctx context.Context, set Set) (Row, error) {
	forms := e.forms()
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
