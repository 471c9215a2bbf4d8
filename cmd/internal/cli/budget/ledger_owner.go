package budget

import (
	"cmp"
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
	schedule       string
	expect         string
	beforehand     bool
	scope          []string
	from, until    string
	reason, key    string
	// fits says how many of the expected charges fit.
	fits string
}

func (a *allowance) amounts(cmd *cobra.Command) {
	cmd.Flags().Var(&a.epsilon, "epsilon", "the ε of the budget; required")
	cmd.Flags().Var(&a.delta, "delta", "the δ of the budget; required")
}

func (a *allowance) record(cmd *cobra.Command, reason string) {
	cmd.Flags().StringVar(&a.reason, "reason", "", reason)
	cmd.Flags().StringVar(&a.key, "key", "", "makes the command repeatable: a second one with this `KEY` and otherwise the same changes nothing")
}

func (a *allowance) compose(cmd *cobra.Command) {
	f := cmd.Flags()
	cli.AddChoice(cmd, &a.composition, "composition", "", "how charges add up: sums (the default), adaptive (a Rényi filter, for many small charges), or planned (a schedule that is registered now)", string(ledger.Sums), string(ledger.Adaptive), string(ledger.Planned))
	f.StringVar(&a.expect, "expect", "", "the use that is expected, such as 'repeat(100, gaussian(40))' for 100 charges of gaussian(40): chooses between sums and adaptive what admits more of it")
	f.StringVar(&a.schedule, "schedule", "", "the `EVENT` that a planned budget pays for: charges must be a part of it")
	a.condition(cmd, "all runs that a planned budget without a schedule will pay for are decided before anything is released")
}

// condition adds the flag with which people state what a guarantee rests on.
func (a *allowance) condition(cmd *cobra.Command, states string) {
	cmd.Flags().BoolVar(&a.beforehand, "decided-beforehand", false, "states that "+states+"; the ledger keeps the statement")
}

// budget checks the amounts and makes a budget of the flags.
func (a *allowance) budget(name string) (ledger.Budget, error) {
	if !a.epsilon.Given || !a.delta.Given {
		return ledger.Budget{}, cli.Usage("a budget needs --epsilon and --delta")
	}
	b := ledger.Budget{
		Name: name, Epsilon: a.epsilon.Value, Delta: a.delta.Value,
		Adjacency: privacy.Adjacency(a.adjacency), Unit: a.unit.Unit, Composition: ledger.Composition(a.composition),
		Beforehand: a.beforehand,
	}
	if a.schedule != "" {
		e, err := cli.ParseEvent(a.schedule)
		if err != nil {
			return b, err
		}
		if b.Schedule, err = ledger.Schedule(e); err != nil {
			return b, err
		}
		b.Composition = cmp.Or(b.Composition, ledger.Planned)
	}
	err := a.suit(&b)
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

// suit chooses the composition for the use that is expected.
func (a *allowance) suit(b *ledger.Budget) error {
	if a.expect == "" {
		return nil
	}
	if b.Composition != "" {
		return cli.Usage("--expect chooses the composition: leave --composition and --schedule out")
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
				return l.AddBudget(ctx, ledger.BudgetRequest{Dataset: args[0], Budget: b, Reason: opt.reason, Key: opt.key})
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
	opt.record(cmd, "why, for the record")
	return cmd
}

func newLedgerGrantCommand(p *cli.Program) *cobra.Command {
	return newAdjustCommand(p, adjustment{
		verb: "grant", short: "Raise a budget",
		long: `Raises a budget by an amount of ε, of δ, or both. What is guaranteed afterwards
is the larger allowance, also when the grant was decided after looking at what
was released.

A planned budget with a schedule is raised for more of a schedule (--schedule).
A planned budget without one, or an adaptive one of an old ledger, holds only
for grants that were decided before anything was released: it takes one with
--decided-beforehand, which the ledger keeps and shows.`,
		done:   "raised",
		change: (*ledger.Ledger).Grant,
	})
}

func newLedgerRevokeCommand(p *cli.Program) *cobra.Command {
	return newAdjustCommand(p, adjustment{
		verb: "revoke", short: "Lower a budget",
		long: `Lowers a budget by an amount of ε, of δ, or both. Charges made before stay; if
they cost more than what is left, all further ones are refused.`,
		done:   "lowered",
		change: (*ledger.Ledger).Revoke,
	})
}

// adjustment is what grant and revoke differ in.
type adjustment struct {
	verb, short, long, done string
	change                  func(*ledger.Ledger, context.Context, ledger.GrantRequest) (ledger.Dataset, error)
}

func newAdjustCommand(p *cli.Program, a adjustment) *cobra.Command {
	var opt allowance
	var budget string
	cmd := &cobra.Command{
		Use:     a.verb + " DATASET [--epsilon E] [--delta D] --reason TEXT",
		Short:   a.short,
		Long:    a.long + ui.JSONKeys(ledgerResult{}),
		Example: fmt.Sprintf("  sotto ledger %s patients --epsilon 1 --reason 'decision 12 of the board'", a.verb),
		Args:    cli.Takes("DATASET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !opt.epsilon.Given && !opt.delta.Given {
				return cli.Usage("give the amount with --epsilon, --delta, or both")
			}
			if opt.reason == "" {
				return cli.Usage("--reason is missing: say why, it stays in the ledger")
			}
			req := ledger.GrantRequest{
				Dataset: args[0], Budget: budget, Epsilon: opt.epsilon.Value, Delta: opt.delta.Value, Reason: opt.reason, Key: opt.key,
				Beforehand: opt.beforehand,
			}
			if opt.schedule != "" {
				var err error
				if req.Schedule, err = cli.ParseEvent(opt.schedule); err != nil {
					return err
				}
			}
			return changed(p, cmd, false, said("budget %s of data set %s is %s", budget, args[0], a.done), func(ctx context.Context, l *ledger.Ledger) (ledger.Dataset, error) {
				return a.change(l, ctx, req)
			})
		},
		ValidArgsFunction: completeDatasets(p),
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
