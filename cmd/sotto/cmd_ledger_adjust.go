package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// adjustment is what grant and revoke differ in.
type adjustment struct {
	verb, short, long, done string
	change                  func(*ledger.Ledger, context.Context, ledger.GrantRequest) (ledger.Dataset, error)
}

func newAdjustCommand(p *program, at *string, a adjustment) *cobra.Command {
	var opt allowance
	var budget string
	cmd := &cobra.Command{
		Use:   a.verb + " DATASET [--epsilon E] [--delta D] --reason TEXT",
		Short: a.short,
		Long: a.long + `

Keys of --json: ledger, rows (the data set's budgets).`,
		Example: fmt.Sprintf("  sotto ledger %s patients --epsilon 1 --reason 'decision 12 of the board'", a.verb),
		Args:    takes("DATASET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !opt.epsilon.set && !opt.delta.set {
				return usage("give the amount with --epsilon, --delta, or both")
			}
			if opt.reason == "" {
				return usage("--reason is missing: say why, it stays in the ledger")
			}
			req := ledger.GrantRequest{
				Dataset: args[0], Budget: budget, Epsilon: opt.epsilon.value, Delta: opt.delta.value, Reason: opt.reason, Key: opt.key,
				Beforehand: opt.beforehand,
			}
			if opt.schedule != "" {
				var err error
				if req.Schedule, err = parseEvent(opt.schedule); err != nil {
					return err
				}
			}
			return p.withLedger(cmd.Context(), *at, false, func(l *ledger.Ledger, address string) (ui.Result, error) {
				d, err := a.change(l, cmd.Context(), req)
				if err != nil {
					return nil, err
				}
				return &ledgerResult{Ledger: address, Rows: budgetRows(d), headline: fmt.Sprintf("budget %s of data set %s is %s", budget, args[0], a.done)}, nil
			})
		},
		ValidArgsFunction: completeDatasets(p, at),
	}
	f := cmd.Flags()
	f.Var(&opt.epsilon, "epsilon", "by how much ε changes, 0 or more")
	f.Var(&opt.delta, "delta", "by how much δ changes, 0 or more")
	f.StringVar(&budget, "budget", ledger.Global, "the `NAME` of the budget")
	if a.verb == "grant" {
		f.StringVar(&opt.schedule, "schedule", "", "what more a planned budget with a schedule pays for, as an `EVENT`")
		opt.condition(cmd, "the grant was decided before anything was released")
	}
	opt.record(cmd, "why, for the record; required")
	return cmd
}
