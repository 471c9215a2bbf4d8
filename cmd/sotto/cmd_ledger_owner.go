package main

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"sotto/privacy"
	"sotto/privacy/ledger"
	"sotto/private/record"
	"sotto/prompt"
)

// allowance holds the flags of a budget.
type allowance struct {
	epsilon, delta number
	adjacency      string
	unit           string
	composition    string
	scope          []string
	from, until    string
	reason, key    string
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
	cmd.Flags().StringVar(&a.composition, "composition", "", "planned (the default), or adaptive when people look at releases to decide what to run next")
	complete(cmd, "composition", string(ledger.Planned), string(ledger.Adaptive))
}

// budget checks the amounts and makes a budget of the flags.
func (a *allowance) budget(name string) (ledger.Budget, error) {
	if !a.epsilon.set || !a.delta.set {
		return ledger.Budget{}, usage("a budget needs --epsilon and --delta")
	}
	b := ledger.Budget{
		Name: name, Epsilon: a.epsilon.value, Delta: a.delta.value,
		Adjacency: privacy.Adjacency(a.adjacency), Unit: privacy.Unit(a.unit), Composition: ledger.Composition(a.composition),
	}
	var err error
	if b.Scope, err = labels("scope", a.scope); err != nil {
		return b, err
	}
	if b.From, err = instant("from", a.from); err != nil {
		return b, err
	}
	b.Until, err = instant("until", a.until)
	return b, err
}

func newLedgerInitCommand(p *program, at *string) *cobra.Command {
	var opt allowance
	var of identity
	cmd := &cobra.Command{
		Use:   "init DATASET --epsilon E --delta D",
		Short: "Enter a data set with its global budget, and make the ledger if there is none",
		Long: `Enters a data set under a name (which is stored as it is, so it must not be
secret) and gives it its global budget, that every charge counts toward.

A data set is identified by a fingerprint: an HMAC-SHA-256 of the data with a
key that its owner keeps, so that the ledger tells nothing to someone who
guesses the data. With --data and --task it is the one by which "sotto synth"
and "sotto answer" know the same records, with --data and --schema that of
"sotto table". That of other programs is given with --fingerprint, for example

  --fingerprint hmac-sha256:$(openssl dgst -sha256 -hmac "$KEY" -r data.jsonl | cut -c1-64)

Without either a random one is drawn, and the ledger knows the data set by its
name alone: it is then up to you that the same records do not get a second
budget under another name.

Keys of --json: ledger, rows (the budgets: dataset, fingerprint, budget,
epsilon, delta, spent, left, …).`,
		Example: `  sotto ledger init patients --epsilon 4 --delta 1e-6
  sotto ledger init chats --data chats.jsonl --task samsum --epsilon 8 --delta 1e-6 --composition adaptive
  sotto ledger init loans --data loans.csv --schema loans.toml --epsilon 2 --delta 1e-6
  sotto ledger init patients --epsilon 4 --delta 1e-6 --adjacency replace-one --composition adaptive`,
		Args: takes("DATASET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return usage("DATASET is empty: give the data set a name")
			}
			b, err := opt.budget("")
			if err != nil {
				return err
			}
			id, drawn, err := of.fingerprint(cmd.Context(), p)
			if err != nil {
				return err
			}
			return p.withLedger(cmd.Context(), *at, true, func(l *ledger.Ledger, address string) (result, error) {
				d, err := l.Init(cmd.Context(), ledger.InitRequest{Dataset: id, Name: args[0], Budget: b, Reason: opt.reason, Key: opt.key})
				if err != nil {
					return nil, err
				}
				if drawn {
					p.warn([]string{"no --fingerprint was given, so the ledger knows this data set by its name alone"})
				}
				return &ledgerResult{Ledger: address, Rows: budgetRows(d), headline: fmt.Sprintf("data set %s has a budget of ε = %s at δ = %s", args[0], whole(b.Epsilon), whole(b.Delta))}, nil
			})
		},
	}
	opt.amounts(cmd)
	addAdjacency(cmd, &opt.adjacency)
	cmd.Flags().StringVar(&opt.unit, "unit", string(privacy.Record), "whom the budget protects: record, or user:COLUMN")
	of.add(cmd)
	p.addPrivate(cmd)
	opt.compose(cmd)
	opt.record(cmd, "why, for the record")
	return cmd
}

// identity says which data a budget is for.
type identity struct {
	given             string
	data, query, task string
	schema            schemaFlag
	table             string
}

func (i *identity) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&i.given, "fingerprint", "", "the keyed fingerprint of the data: hmac-sha256: and 64 hexadecimal digits")
	f.StringVar(&i.data, "data", "", "the records that the budget is for: a `FILE`, or the address of a database")
	f.StringVar(&i.query, "query", "", "the rows of a database, as `SQL` with an ORDER BY that leaves no ties")
	f.StringVar(&i.task, "task", "", "with --data: a task that they serve, a `NAME` of \"sotto task list\" or the path of a file")
	_ = cmd.RegisterFlagCompletionFunc("task", completeTasks) // the flag exists
	f.StringVar(&i.schema.ref, "schema", "", "with --data: the schema of a table, a `NAME` of \"sotto table schema\" or the path of a file")
	_ = cmd.RegisterFlagCompletionFunc("schema", completeSchemas)
	f.StringVar(&i.table, "table", "", "with --schema: which `TABLE` of a database")
}

// fingerprint is that of the data, or a random one.
func (i *identity) fingerprint(ctx context.Context, p *program) (id ledger.Fingerprint, drawn bool, err error) {
	switch {
	case i.given != "" && i.data != "":
		return "", false, usage("--fingerprint and --data exclude each other: the data has one")
	case i.given != "":
		return ledger.Fingerprint(i.given), false, nil
	case i.data == "" && (i.task != "" || i.query != "" || i.schema.ref != "" || i.table != ""):
		return "", false, usage("--task, --schema, --table and --query go with --data")
	case i.data == "":
		id, err = randomFingerprint()
		return id, true, err
	case i.task != "" && i.schema.ref != "":
		return "", false, usage("--task and --schema exclude each other: records have a task, tables a schema")
	case i.schema.ref != "":
		id, err = i.ofTable(ctx, p)
		return id, false, err
	case i.task == "" || i.table != "":
		return "", false, usage("--task is missing: what the records are for says how to read them; for tables there is --schema")
	}
	task, err := prompt.Find(i.task)
	if err != nil {
		return "", false, taskError(err)
	}
	source, err := (&sourceFlags{data: i.data, query: i.query, onError: string(record.Skip)}).source(p)
	if err != nil {
		return "", false, err
	}
	id, err = source.Fingerprint(ctx, task)
	return id, false, err
}

// ofTable is the fingerprint of a table.
func (i *identity) ofTable(ctx context.Context, p *program) (ledger.Fingerprint, error) {
	of, err := i.schema.schema()
	if err != nil {
		return "", err
	}
	source, err := p.tableSource(i.data, i.table, i.query)
	if err != nil {
		return "", err
	}
	return source.Fingerprint(ctx, of)
}

func randomFingerprint() (ledger.Fingerprint, error) {
	mac := make([]byte, 32)
	rand.Read(mac) // never fails, crypto/rand
	return ledger.NewFingerprint(mac)
}

func newLedgerBudgetCommand(p *program, at *string) *cobra.Command {
	var opt allowance
	cmd := &cobra.Command{
		Use:   "budget DATASET NAME --epsilon E --delta D [--scope LABEL=VALUE]… [--from T] [--until T]",
		Short: "Add a budget to a data set: for a team, for a month",
		Long: `Adds a budget beside the global one. With --scope only charges that carry all
these labels count toward it; with --from and --until only charges of that
time, and charges with its scope are refused while no budget of the kind is
open. A charge has to fit every budget that applies to it.

Keys of --json: ledger, rows (the data set's budgets).`,
		Example: `  sotto ledger budget patients risk-team --epsilon 1 --delta 1e-6 --scope team=risk
  sotto ledger budget patients january --epsilon 0.5 --delta 1e-6 --from 2026-01-01 --until 2026-02-01`,
		Args: takes("DATASET", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := opt.budget(args[1])
			if err != nil {
				return err
			}
			return p.withLedger(cmd.Context(), *at, false, func(l *ledger.Ledger, address string) (result, error) {
				d, err := l.AddBudget(cmd.Context(), ledger.BudgetRequest{Dataset: args[0], Budget: b, Reason: opt.reason, Key: opt.key})
				if err != nil {
					return nil, err
				}
				return &ledgerResult{Ledger: address, Rows: budgetRows(d), headline: fmt.Sprintf("data set %s has a further budget, %s", args[0], args[1])}, nil
			})
		},
		ValidArgsFunction: completeDatasets(p, at),
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

func newLedgerGrantCommand(p *program, at *string) *cobra.Command {
	return newAdjustCommand(p, at, adjustment{
		verb: "grant", short: "Raise a budget",
		long: `Raises a budget by an amount of ε, of δ, or both. What can be guaranteed in the
end is the largest allowance that the budget ever had.`,
		done:   "raised",
		change: (*ledger.Ledger).Grant,
	})
}

func newLedgerRevokeCommand(p *program, at *string) *cobra.Command {
	return newAdjustCommand(p, at, adjustment{
		verb: "revoke", short: "Lower a budget",
		long: `Lowers a budget by an amount of ε, of δ, or both. Charges made before stay; if
they cost more than what is left, all further ones are refused.`,
		done:   "lowered",
		change: (*ledger.Ledger).Revoke,
	})
}
