package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/private/record"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// identity holds the flags that say which data it is about.
type identity struct {
	given             string
	data, query, task string
	schema            schemaFlag
	table             string
}

func (i *identity) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&i.data, "data", "", "the records that it is about: a `FILE`, or the address of a database")
	f.StringVar(&i.query, "query", "", "the rows of a database, as `SQL` with an ORDER BY that leaves no ties")
	f.StringVar(&i.task, "task", "", "with --data: a task that they serve, a `NAME` of \"sotto task list\" or the path of a file")
	_ = cmd.RegisterFlagCompletionFunc("task", completeTasks) // the flag exists
	f.StringVar(&i.schema.ref, "schema", "", "with --data: the schema of a table, a `NAME` of \"sotto table schema\" or the path of a file")
	_ = cmd.RegisterFlagCompletionFunc("schema", completeSchemas)
	f.StringVar(&i.table, "table", "", "with --schema: which `TABLE` of a database")
}

// identify returns what the data is known by: that of the records, a given fingerprint, or
// a random one.
func (i *identity) identify(ctx context.Context, p *program) (id ledger.Identity, drawn bool, err error) {
	switch {
	case i.given != "" && i.data != "":
		return id, false, usage("--fingerprint and --data exclude each other: the data has one")
	case i.given != "":
		return ledger.Identity{Fingerprint: ledger.Fingerprint(i.given)}, false, nil
	case i.data == "" && *i != (identity{}):
		return id, false, usage("--task, --schema, --table and --query go with --data")
	case i.data == "":
		id.Fingerprint, err = randomFingerprint()
		return id, true, err
	}
	id, err = i.ofRecords(ctx, p)
	return id, false, err
}

// ofRecords reads the records.
func (i *identity) ofRecords(ctx context.Context, p *program) (ledger.Identity, error) {
	switch {
	case i.task != "" && i.schema.ref != "":
		return ledger.Identity{}, usage("--task and --schema exclude each other: records have a task, tables a schema")
	case i.schema.ref != "":
		return i.ofTable(ctx, p)
	case i.task == "" || i.table != "":
		return ledger.Identity{}, usage("--task is missing: what the records are for says how to read them; for tables there is --schema")
	}
	task, err := findTask(i.task)
	if err != nil {
		return ledger.Identity{}, err
	}
	source, err := (&sourceFlags{data: i.data, query: i.query, onError: string(record.Skip)}).source(i.task)
	if err != nil {
		return ledger.Identity{}, err
	}
	client, err := p.client("", "", backend.Spec{})
	if err != nil {
		return ledger.Identity{}, err
	}
	return client.Identity(ctx, source, task)
}

func (i *identity) ofTable(ctx context.Context, p *program) (ledger.Identity, error) {
	of, err := i.schema.schema()
	if err != nil {
		return ledger.Identity{}, err
	}
	client, err := p.client("", "", backend.Spec{})
	if err != nil {
		return ledger.Identity{}, err
	}
	return client.TableIdentity(ctx, sotto.TableSource{Location: i.data, Table: i.table, Query: i.query}, of)
}

func randomFingerprint() (ledger.Fingerprint, error) {
	mac := make([]byte, 32)
	rand.Read(mac) // never fails, crypto/rand
	return ledger.NewFingerprint(mac)
}

func newLedgerLinkCommand(p *program, at *string) *cobra.Command {
	var of identity
	var name, reason string
	var newPeople bool
	cmd := &cobra.Command{
		Use:   "link DATASET… --data FILE --reason TEXT",
		Short: "State that data has people of data sets, so that it counts toward their budgets",
		Long: `Decides about data that shares some records with data sets of the ledger, which
no other command does: only the owner of the data knows whether they are the
same people.

With one DATASET the data becomes a version of it, with the same budget. With
several it becomes a data set of its own, named by --name, with a global budget
like the smallest of theirs: each charge to it counts toward all of them, and
fits every budget or is refused. Data that is in the ledger already keeps its
budgets and counts toward the others too, also with what was charged before.

With --new-people it states the opposite, about data that is in the ledger.
New data of other people is entered with "sotto ledger init --new-people".

Keys of --json: ledger, rows (the budgets that charges to the data count
toward; those of other data sets as DATASET:BUDGET).`,
		Example: `  sotto ledger link patients --data patients-2026.csv --schema patients.toml --reason 'the same clinic, a year later'
  sotto ledger link north south --data both.csv --schema clients.toml --name both --reason 'merged registers'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("DATASET is missing: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case of.data == "":
				return usage("--data is missing: the records that the decision is about")
			case reason == "":
				return usage("--reason is missing: say how you know whose records these are, it stays in the ledger")
			}
			id, err := of.ofRecords(cmd.Context(), p)
			if err != nil {
				return err
			}
			return p.withLedger(cmd.Context(), *at, false, func(l *ledger.Ledger, address string) (ui.Result, error) {
				d, err := l.Link(cmd.Context(), ledger.LinkRequest{Identity: id, Datasets: args, NewPeople: newPeople, Name: name, Reason: reason})
				if err != nil {
					return nil, err
				}
				said := "the data is " + titleOf(d) + "; its charges count toward all of these budgets"
				if newPeople {
					said = fmt.Sprintf("data set %s has other people than %s", titleOf(d), strings.Join(args, ", "))
				}
				return &ledgerResult{Ledger: address, Rows: budgetRows(d), headline: said}, nil
			})
		},
		ValidArgsFunction: completeDatasets(p, at),
	}
	of.add(cmd)
	p.addPrivate(cmd)
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "with several data sets: what people call the new one")
	f.StringVar(&reason, "reason", "", "how you know, for the record; required")
	f.BoolVar(&newPeople, "new-people", false, "the data, which is in the ledger, has other people than these data sets")
	return cmd
}

// titleOf is how people call a data set.
func titleOf(d ledger.Dataset) string {
	if d.Name != "" {
		return d.Name
	}
	return string(d.Fingerprint)
}
