package texts

import (
	"context"
	"strconv"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
)

// PlanRequest is what a program asks to be planned.
type PlanRequest struct {
	Task           string
	Size           int64
	Epsilon, Delta float64
	Shots, Tokens  int
	Answers        int64
	Methods        []string
}

// PlanFor is "sotto plan" for a program. It passes tell what is wrong with the request, and not what is wrong with the
// model.
func PlanFor(ctx context.Context, p *cli.Program, model flags.Model, in PlanRequest, tell func(error) error) (any, error) {
	if _, err := cli.FindTask(in.Task); err != nil {
		return nil, err
	}
	opt := planOptions{Model: model, answers: in.Answers}
	if len(in.Methods) > 0 {
		opt.methods = in.Methods
	}
	opt.Task, opt.Size, opt.shots, opt.tokens = in.Task, strconv.FormatInt(in.Size, 10), in.Shots, in.Tokens
	opt.Epsilon = cli.Number{Value: in.Epsilon, Given: true}
	opt.Delta = cli.Number{Value: in.Delta, Given: in.Delta != 0}
	opt.Given = func(string) bool { return false }
	if _, err := opt.planned(in.Answers > 0); err != nil {
		return nil, tell(err)
	}
	r, err := plans(ctx, p, opt, in.Answers > 0)
	if ui.Is[*sotto.InputError](err) {
		return nil, tell(err)
	}
	return r, err
}
