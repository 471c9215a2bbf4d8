package main

import (
	"cmp"
	"context"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/budget"
	"github.com/sotto-dp/sotto/cmd/internal/cli/serve"
	"github.com/sotto-dp/sotto/cmd/internal/cli/texts"
	"github.com/sotto-dp/sotto/cmd/internal/serve/agents"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/privacy"
)

// agentVerbs lets agents do what verbs do.
func agentVerbs(p *cli.Program) serve.ForAgents {
	return serve.ForAgents{
		Plan: func(ctx context.Context, model flags.Model, in agents.PlanArguments) (any, error) {
			return texts.PlanFor(ctx, p, model, texts.PlanRequest(in), agents.Tell)
		},
		Account: func(in agents.AccountArguments) (any, error) {
			var epsilon cli.Number
			if in.Epsilon != nil {
				epsilon = cli.Number{Value: *in.Epsilon, Given: true}
			}
			return budget.Account(in.Event, termsOfAgents(in.TermArguments), epsilon)
		},
		Calibrate: func(in agents.CalibrateArguments) (any, error) {
			return budget.Calibrate(in.Event, termsOfAgents(in.TermArguments), cli.Number{Value: in.Epsilon, Given: true})
		},
		Budgets: func(ctx context.Context) ([]agents.Budget, error) { return budgetsForAgents(ctx, p) },
	}
}

// termsOfAgents are the flags of the command line that mean the same.
func termsOfAgents(t agents.TermArguments) cli.TermFlags {
	f := cli.TermFlags{Size: t.Size, Adjacency: cmp.Or(t.Adjacency, string(privacy.AddRemove)), Accountant: cmp.Or(t.Accountant, "auto")}
	if t.Delta != nil {
		f.Delta = cli.Number{Value: *t.Delta, Given: true}
	}
	return f
}

// budgetsForAgents are budgets without fingerprints, addresses and reasons.
func budgetsForAgents(ctx context.Context, p *cli.Program) (out []agents.Budget, err error) {
	rows, err := budget.Rows(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		out = append(out, agents.Budget{
			Dataset: r.Dataset, Budget: r.Budget, Composition: r.Composition, Epsilon: r.Epsilon, Delta: r.Delta, Spent: r.Spent, Left: r.Left,
			Open: r.Open, Reserved: r.Reserved, Committed: r.Committed, Forfeited: r.Forfeited,
		})
	}
	return out, nil
}
