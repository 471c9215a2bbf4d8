package budget

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/backend"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

func newLedgerInitCommand(p *cli.Program) *cobra.Command {
	var opt allowance
	var of identity
	var newPeople bool
	cmd := &cobra.Command{
		Use:   "init [DATASET --epsilon E --delta D]",
		Short: "Make the ledger if there is none, and enter a data set with its global budget",
		Long: `Makes the ledger if there is none: no other command does, except that the first
use of private data makes one at the default place. Without DATASET that is
all. With it, enters a data set under a name (which is stored as it is, so it
must not be secret) and gives it its global budget, toward which every charge
counts.

A data set is its records. With --data and --task, or with --data and --schema
for a table, the ledger keeps a fingerprint and a sketch of them: keyed hashes,
which reveal nothing without the key of your private folder. By these it
recognises the records when they are saved anew, sorted, added to or converted.
Data that shares records with a data set of the ledger is refused, unless it is
about other people: then say so with --new-people and --reason. For the same
people see "sotto ledger link". Databases and queries have no budget until they
are entered here.

The fingerprint of other programs is given with --fingerprint, for example

  --fingerprint hmac-sha256:$(openssl dgst -sha256 -hmac "$KEY" -r data.jsonl | cut -c1-64)

Such data is known by its bytes alone. Without either a random one is drawn,
and the ledger knows the data set by its name alone: make sure yourself that the
same records do not get a second budget under another name.

How charges add up is chosen now, and never changes. With sums (the default)
every charge has an ε and a δ that are fixed when it is made; a run that was
planned for the whole budget fits it. A charge takes the same share of the ε and
of the δ that are left, so that a run of ε = 1 and δ = 1e-6 counts as ε = 1.05
or more in a budget of ε = 2 and δ = 1e-6, which then has no room for a second.
For N runs give N times their ε and N times their δ: --epsilon 2 --delta 2e-6
holds two of ε = 1 at δ = 1e-6, which "sotto synth" has by default up to 285,000
records. With adaptive, charges add up in a Rényi
filter, which admits more of them when they are many and small. Both hold for
people who look at a release and then decide what to run, and after grants.` + ui.JSONKeys(ledgerResult{}),
		Example: `  sotto ledger init
  sotto ledger init patients --epsilon 4 --delta 1e-6
  sotto ledger init chats --data chats.jsonl --task samsum --epsilon 8 --delta 1e-6
  sotto ledger init survey --epsilon 2 --delta 1e-6 --expect 'repeat(1000, gaussian(60))'
  sotto ledger init loans --data postgres://host/bank --query 'SELECT * FROM loans' --schema loans.toml --epsilon 2 --delta 1e-6
  sotto ledger init patients --epsilon 4 --delta 1e-6 --adjacency replace-one`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && (opt.epsilon.Given || opt.delta.Given || of != (identity{}) || newPeople) {
				return cli.Usage("DATASET is missing: %s", cmd.UseLine())
			}
			return cli.Takes([]string{"DATASET"}[:min(len(args), 1)]...)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return withLedger(cmd.Context(), p, true, func(_ *ledger.Ledger, address string) (ui.Result, error) {
					return &ledgerResult{Ledger: address, Rows: []Row{}, headline: "the ledger is ready"}, nil
				})
			}
			return runInit(cmd, p, args[0], opt, &of, newPeople)
		},
	}
	opt.amounts(cmd)
	cli.AddAdjacency(cmd, &opt.adjacency)
	opt.unit.Add(cmd)
	of.add(cmd)
	cmd.Flags().StringVar(&of.given, "fingerprint", "", "the keyed fingerprint of the data: hmac-sha256: and 64 hexadecimal digits")
	cmd.Flags().BoolVar(&newPeople, "new-people", false, "the data has other people than those that it shares records with; needs --reason")
	opt.compose(cmd)
	return cmd
}

func runInit(cmd *cobra.Command, p *cli.Program, name string, opt allowance, of *identity, newPeople bool) error {
	switch {
	case name == "":
		return cli.Usage("DATASET is empty: give the data set a name")
	case newPeople && opt.reason == "":
		return cli.Usage("--reason is missing: say how you know that these are other people, it stays in the ledger")
	case newPeople && of.data == "":
		return cli.Usage("--new-people goes with --data: without the records nothing is compared")
	}
	b, err := opt.budget("")
	if err != nil {
		return err
	}
	_, had, err := hasKey(p)
	if err != nil {
		return err
	}
	p.MadeKey = !had // if there is one below
	id, drawn, err := of.identify(cmd.Context(), p)
	if err != nil {
		return err
	}
	headline := said("data set %s has a budget of ε = %s at δ = %s%s", name, ui.Whole(b.Epsilon), ui.Whole(b.Delta), opt.fits)
	return changed(p, cmd, true, headline, func(ctx context.Context, l *ledger.Ledger) (ledger.Dataset, error) {
		d, err := l.Init(ctx, ledger.InitRequest{
			Dataset: id.Fingerprint, Sketch: id.Sketch, KeyID: id.KeyID, KeyPath: id.KeyPath,
			Name: name, Budget: b, NewPeople: newPeople, Reason: opt.reason,
		})
		if err == nil && drawn {
			p.Warn("no --data or --fingerprint was given, so the ledger knows this data set by its name alone")
		}
		return d, err
	})
}

// warnNew says that a ledger is about to be made, and what that means.
func warnNew(p *cli.Program, address string) error {
	warnings := []string{fmt.Sprintf("there was no ledger: %s is a NEW one, which knows of no use of any data before", config.Redact(address))}
	dir, used, err := hasKey(p)
	if err != nil {
		return err
	}
	if used && !p.MadeKey {
		warnings = append(warnings, fmt.Sprintf("the fingerprint key %s may have been used with another ledger: what was charged there is not in this one", folder.KeyPath(dir)))
	}
	p.Warn(warnings...)
	return nil
}

// hasKey reports whether the private folder has a key.
func hasKey(p *cli.Program) (dir string, has bool, err error) {
	if dir, err = p.PrivateDir(); err != nil {
		return "", false, err
	}
	if has, err = folder.HasKey(dir); err != nil {
		err = fmt.Errorf("look for the key of the private folder: %w", err)
	}
	return dir, has, err
}

// identity holds the flags that say which data it is about.
type identity struct {
	given             string
	data, query, task string
	schema            cli.SchemaFlag
	table             string
}

func (i *identity) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&i.data, "data", "", "the records that it is about: a `FILE`, a folder, or the address of a database")
	f.StringVar(&i.query, "query", "", "the rows of a database, as `SQL` with an ORDER BY that leaves no ties")
	f.StringVar(&i.task, "task", "", "with --data: a task that they serve, a `NAME` of \"sotto task list\" or the path of a file")
	_ = cmd.RegisterFlagCompletionFunc("task", cli.CompleteTasks) // the flag exists
	f.StringVar(&i.schema.Ref, "schema", "", "with --data: the schema of a table, a `NAME` of \"sotto table schema\" or the path of a file")
	_ = cmd.RegisterFlagCompletionFunc("schema", cli.CompleteSchemas)
	f.StringVar(&i.table, "table", "", "with --schema: which `TABLE` of a database")
}

// identify returns what the data is known by: that of the records, a given fingerprint, or
// a random one.
func (i *identity) identify(ctx context.Context, p *cli.Program) (id ledger.Identity, drawn bool, err error) {
	switch {
	case i.given != "" && i.data != "":
		return id, false, cli.Usage("--fingerprint and --data exclude each other: the data has one")
	case i.given != "":
		return ledger.Identity{Fingerprint: ledger.Fingerprint(i.given)}, false, nil
	case i.data == "" && *i != (identity{}):
		return id, false, cli.Usage("--task, --schema, --table and --query go with --data")
	case i.data == "":
		mac := make([]byte, 32)
		rand.Read(mac) // never fails, crypto/rand
		id.Fingerprint, err = ledger.NewFingerprint(mac)
		return id, true, err
	}
	id, err = i.ofRecords(ctx, p)
	return id, false, err
}

// ofRecords reads the records, or the rows of a table.
func (i *identity) ofRecords(ctx context.Context, p *cli.Program) (id ledger.Identity, err error) {
	switch {
	case i.task != "" && i.schema.Ref != "":
		return id, cli.Usage("--task and --schema exclude each other: records have a task, tables a schema")
	case i.schema.Ref == "" && (i.task == "" || i.table != ""):
		return id, cli.Usage("--task is missing: what the records are for says how to read them; for tables there is --schema")
	}
	client, err := p.Client(backend.Spec{})
	if err != nil {
		return id, err
	}
	if i.schema.Ref != "" {
		of, err := i.schema.Schema()
		if err != nil {
			return id, err
		}
		return client.TableIdentity(ctx, sotto.TableSource{Location: i.data, Table: i.table, Query: i.query}, of)
	}
	task, err := cli.FindTask(i.task)
	if err != nil {
		return id, err
	}
	of, err := cli.TableOf(i.task)
	if err != nil {
		return id, err
	}
	return client.Identity(ctx, sotto.Source{Location: i.data, Query: i.query, Schema: of, SkipMalformed: true}, task)
}

func newLedgerLinkCommand(p *cli.Program) *cobra.Command {
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
New data of other people is entered with "sotto ledger init --new-people".` + ui.JSONKeys(ledgerResult{}, "rows are the budgets that charges to the data count toward; those of other data sets as DATASET:BUDGET."),
		Example: `  sotto ledger link patients --data patients-2026.csv --schema patients.toml --reason 'the same clinic, a year later'
  sotto ledger link north south --data both.csv --schema clients.toml --name both --reason 'merged registers'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("DATASET is missing: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case of.data == "":
				return cli.Usage("--data is missing: the records that the decision is about")
			case reason == "":
				return cli.Usage("--reason is missing: say how you know whose records these are, it stays in the ledger")
			}
			id, err := of.ofRecords(cmd.Context(), p)
			if err != nil {
				return err
			}
			headline := func(d ledger.Dataset) string {
				title := cmp.Or(d.Name, string(d.Fingerprint))
				if newPeople {
					return fmt.Sprintf("data set %s has other people than %s", title, strings.Join(args, ", "))
				}
				return "the data is " + title + "; its charges count toward all of these budgets"
			}
			return changed(p, cmd, false, headline, func(ctx context.Context, l *ledger.Ledger) (ledger.Dataset, error) {
				return l.Link(ctx, ledger.LinkRequest{Identity: id, Datasets: args, NewPeople: newPeople, Name: name, Reason: reason})
			})
		},
		ValidArgsFunction: completeDatasets(p),
	}
	of.add(cmd)
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "with several data sets: what people call the new one")
	f.StringVar(&reason, "reason", "", "how you know, for the record; required")
	f.BoolVar(&newPeople, "new-people", false, "the data, which is in the ledger, has other people than these data sets")
	return cmd
}
