package budget

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// allowance holds the flags of a budget.
type allowance struct {
	epsilon, delta cli.Number
	adjacency      string
	unit           cli.UnitFlag
	composition    string
	expect         string
	scope          []string
	from, until    string
	reason         string
	// fits says how many of the expected charges fit.
	fits string
}

func (a *allowance) amounts(cmd *cobra.Command) {
	cmd.Flags().Var(&a.epsilon, "epsilon", "the ε of the budget; required")
	cmd.Flags().Var(&a.delta, "delta", "the δ of the budget; required")
}

func (a *allowance) compose(cmd *cobra.Command) {
	f := cmd.Flags()
	cli.AddChoice(cmd, &a.composition, "composition", "", "how charges add up: sums (the default), or adaptive (a Rényi filter, for many small charges)", string(ledger.Sums), string(ledger.Adaptive))
	f.StringVar(&a.expect, "expect", "", "the use that is expected, such as 'repeat(100, gaussian(40))' for 100 charges of gaussian(40): chooses between sums and adaptive what admits more of it")
	f.StringVar(&a.reason, "reason", "", "why, for the record")
}

// budget checks the amounts and makes a budget of the flags.
func (a *allowance) budget(name string) (ledger.Budget, error) {
	if !a.epsilon.Given || !a.delta.Given {
		return ledger.Budget{}, cli.Usage("a budget needs --epsilon and --delta")
	}
	b := ledger.Budget{
		Name: name, Epsilon: a.epsilon.Value, Delta: a.delta.Value,
		Adjacency: privacy.Adjacency(a.adjacency), Unit: a.unit.Unit, Composition: ledger.Composition(a.composition),
	}
	err := a.chooseComposition(&b)
	if err != nil {
		return b, err
	}
	if b.Scope, err = ui.Pairs("scope", a.scope); err != nil {
		return b, err
	}
	if b.From, err = instant("from", a.from); err != nil {
		return b, err
	}
	b.Until, err = instant("until", a.until)
	return b, err
}

// chooseComposition takes the composition that admits most of the expected use.
func (a *allowance) chooseComposition(b *ledger.Budget) error {
	if a.expect == "" {
		return nil
	}
	if b.Composition != "" {
		return cli.Usage("--expect chooses the composition: leave --composition out")
	}
	e, err := cli.ParseEvent(a.expect)
	if err != nil {
		return err
	}
	n := int64(1)
	if r, ok := privacy.Canonical(e).(privacy.Repeat); ok {
		n, e = r.N, r.Event
	}
	suited, fits, err := ledger.BestComposition(*b, e, n)
	if err != nil {
		return err
	}
	*b, a.fits = suited, fmt.Sprintf("; %s charges of %s fit, one after the other", ui.Thousands(fits), e)
	return nil
}

func newLedgerBudgetCommand(p *cli.Program) *cobra.Command {
	var opt allowance
	cmd := &cobra.Command{
		Use:   "budget DATASET NAME --epsilon E --delta D [--scope LABEL=VALUE]… [--from T] [--until T]",
		Short: "Add a budget to a data set: for a team, for a month",
		Long: `Adds a budget beside the global one. With --scope only charges that carry all
these labels count toward it; with --from and --until only charges of that
time, and charges with its scope are refused while no budget of the kind is
open. A charge has to fit every budget that applies to it.` + ui.JSONKeys(ledgerResult{}),
		Example: `  sotto ledger budget patients risk-team --epsilon 1 --delta 1e-6 --scope team=risk
  sotto ledger budget patients january --epsilon 0.5 --delta 1e-6 --from 2026-01-01 --until 2026-02-01`,
		Args: cli.Takes("DATASET", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := opt.budget(args[1])
			if err != nil {
				return err
			}
			return changed(p, cmd, false, said("data set %s has a further budget, %s", args[0], args[1]), func(ctx context.Context, l *ledger.Ledger) (ledger.Dataset, error) {
				return l.AddBudget(ctx, ledger.BudgetRequest{Dataset: args[0], Budget: b, Reason: opt.reason})
			})
		},
		ValidArgsFunction: completeDatasets(p),
	}
	opt.amounts(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&opt.scope, "scope", nil, "only for charges with this `LABEL=VALUE`; may be repeated")
	f.StringVar(&opt.from, "from", "", "only for charges at or after this `TIME`")
	f.StringVar(&opt.until, "until", "", "only for charges before this `TIME`")
	opt.compose(cmd)
	return cmd
}

func newLedgerGrantCommand(p *cli.Program) *cobra.Command {
	var by allowance
	var budget, key string
	cmd := &cobra.Command{
		Use:   "grant DATASET [--epsilon E] [--delta D] --reason TEXT",
		Short: "Raise a budget, or lower it",
		Long: `Raises a budget by an amount of ε, of δ, or both; a negative amount lowers it.
What is guaranteed is the largest allowance that the budget ever had, also when
a grant was decided after looking at what was released. Charges made before
stay; if they cost more than what is left, all further ones are refused.` + ui.JSONKeys(ledgerResult{}),
		Example: `  sotto ledger grant patients --epsilon 1 --reason 'decision 12 of the board'
  sotto ledger grant patients --epsilon -0.5 --reason 'decision 13 of the board'`,
		Args: cli.Takes("DATASET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, done := (*ledger.Ledger).Grant, "raised"
			epsilon, delta := by.epsilon.Value, by.delta.Value
			switch {
			case !by.epsilon.Given && !by.delta.Given:
				return cli.Usage("give the amount with --epsilon, --delta, or both")
			case by.reason == "":
				return cli.Usage("--reason is missing: say why, it stays in the ledger")
			case epsilon*delta < 0:
				return cli.Usage("--epsilon and --delta go the same way: give two grants")
			case epsilon < 0 || delta < 0:
				change, done, epsilon, delta = (*ledger.Ledger).Revoke, "lowered", -epsilon, -delta
			}
			return changed(p, cmd, false, said("budget %s of data set %s is %s", budget, args[0], done), func(ctx context.Context, l *ledger.Ledger) (ledger.Dataset, error) {
				return change(l, ctx, ledger.GrantRequest{Dataset: args[0], Budget: budget, Epsilon: epsilon, Delta: delta, Reason: by.reason, Key: key})
			})
		},
		ValidArgsFunction: completeDatasets(p),
	}
	f := cmd.Flags()
	f.Var(&by.epsilon, "epsilon", "by how much ε grows")
	f.Var(&by.delta, "delta", "by how much δ grows")
	f.StringVar(&budget, "budget", ledger.Global, "the `NAME` of the budget")
	f.StringVar(&by.reason, "reason", "", "why, for the record; required")
	f.StringVar(&key, "key", "", "makes the command repeatable: a second one with this `KEY` and otherwise the same changes nothing")
	return cmd
}
