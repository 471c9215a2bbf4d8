package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/private/folder"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

func newLedgerInitCommand(p *program, at *string) *cobra.Command {
	var opt allowance
	var of identity
	var newPeople bool
	cmd := &cobra.Command{
		Use:   "init [DATASET --epsilon E --delta D]",
		Short: "Make the ledger if there is none, and enter a data set with its global budget",
		Long: `Makes the ledger if there is none: no other command does, except that the first
use of private data makes one at the default place. Without DATASET that is
all. With it, enters a data set under a name (which is stored as it is, so it
must not be secret) and gives it its global budget, that every charge counts
toward.

A data set is its records. With --data and --task, or with --data and --schema
for a table, the ledger keeps a fingerprint and a sketch of them: keyed hashes,
which tell nothing to someone who has not the key of your private folder. By
these it knows the records again when they are saved anew, sorted, added to or
converted. Data that shares records with a data set of the ledger is refused,
unless it has other people: then say so with --new-people and --reason. For
the same people see "sotto ledger link". Databases and queries have no budget
until they are entered here.

The fingerprint of other programs is given with --fingerprint, for example

  --fingerprint hmac-sha256:$(openssl dgst -sha256 -hmac "$KEY" -r data.jsonl | cut -c1-64)

Such data is known by its bytes alone. Without either a random one is drawn,
and the ledger knows the data set by its name alone: it is then up to you that
the same records do not get a second budget under another name.

How charges add up is chosen now, and never changes. With sums (the default)
every charge has an ε and a δ that are fixed when it is made; a run that was
planned for the whole budget fits it. With adaptive, charges add up in a Rényi
filter, which admits more of them when they are many and small. Both hold for
people who look at a release and then decide what to run, and after grants.
With planned and --schedule, what will be charged is registered now, composed
by the tightest accountant, and nothing else is charged.

Keys of --json: ledger, rows (the budgets: dataset, fingerprint, budget,
epsilon, delta, spent, left, composition, basis, …).`,
		Example: `  sotto ledger init
  sotto ledger init patients --epsilon 4 --delta 1e-6
  sotto ledger init chats --data chats.jsonl --task samsum --epsilon 8 --delta 1e-6
  sotto ledger init survey --epsilon 2 --delta 1e-6 --expect 'repeat(1000, gaussian(60))'
  sotto ledger init weekly --epsilon 3 --delta 1e-6 --schedule 'repeat(52, gaussian(20))'
  sotto ledger init loans --data postgres://host/bank --query 'SELECT * FROM loans' --schema loans.toml --epsilon 2 --delta 1e-6
  sotto ledger init patients --epsilon 4 --delta 1e-6 --adjacency replace-one`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && (opt.epsilon.set || opt.delta.set || of != (identity{}) || newPeople) {
				return usage("DATASET is missing: %s", cmd.UseLine())
			}
			return takes([]string{"DATASET"}[:min(len(args), 1)]...)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return p.withLedger(cmd.Context(), *at, true, func(_ *ledger.Ledger, address string) (ui.Result, error) {
					return &ledgerResult{Ledger: address, Rows: []budgetRow{}, headline: "the ledger is ready"}, nil
				})
			}
			return runInit(cmd, p, *at, args[0], opt, &of, newPeople)
		},
	}
	opt.amounts(cmd)
	addAdjacency(cmd, &opt.adjacency)
	cmd.Flags().StringVar(&opt.unit, "unit", string(privacy.Record), "whom the budget protects: record, or user:COLUMN")
	of.add(cmd)
	cmd.Flags().StringVar(&of.given, "fingerprint", "", "the keyed fingerprint of the data: hmac-sha256: and 64 hexadecimal digits")
	cmd.Flags().BoolVar(&newPeople, "new-people", false, "the data has other people than those that it shares records with; needs --reason")
	p.addPrivate(cmd)
	opt.compose(cmd)
	opt.record(cmd, "why, for the record")
	return cmd
}

func runInit(cmd *cobra.Command, p *program, at, name string, opt allowance, of *identity, newPeople bool) error {
	switch {
	case name == "":
		return usage("DATASET is empty: give the data set a name")
	case newPeople && opt.reason == "":
		return usage("--reason is missing: say how you know that these are other people, it stays in the ledger")
	case newPeople && of.data == "":
		return usage("--new-people goes with --data: without the records nothing is compared")
	}
	b, err := opt.budget("")
	if err != nil {
		return err
	}
	id, drawn, err := of.identify(cmd.Context(), p)
	if err != nil {
		return err
	}
	return p.withLedger(cmd.Context(), at, true, func(l *ledger.Ledger, address string) (ui.Result, error) {
		d, err := l.Init(cmd.Context(), ledger.InitRequest{
			Dataset: id.Fingerprint, Sketch: id.Sketch, KeyID: id.KeyID, KeyPath: id.KeyPath,
			Name: name, Budget: b, NewPeople: newPeople, Reason: opt.reason, Key: opt.key,
		})
		if err != nil {
			return nil, err
		}
		if drawn {
			p.Warn("no --data or --fingerprint was given, so the ledger knows this data set by its name alone")
		}
		return &ledgerResult{Ledger: address, Rows: budgetRows(d), headline: fmt.Sprintf("data set %s has a budget of ε = %s at δ = %s%s", name, ui.Whole(b.Epsilon), ui.Whole(b.Delta), opt.fits)}, nil
	})
}

// warnNew says that a ledger is about to be made, and what that means.
func (p *program) warnNew(address string) error {
	warnings := []string{fmt.Sprintf("there was no ledger: %s is a NEW one, which knows of no use of any data before", redact(address))}
	dir, err := p.privateDir()
	if err != nil {
		return err
	}
	if used, err := folder.HasKey(dir); err != nil {
		return fmt.Errorf("look for the key of the private folder: %w", err)
	} else if used {
		warnings = append(warnings, fmt.Sprintf("the fingerprint key %s may have been used with another ledger: what was charged there is not in this one", folder.KeyPath(dir)))
	}
	p.Warn(warnings...)
	return nil
}

// explainMissing tells the command that makes a ledger.
func explainMissing(err error, address string) error {
	if !errors.Is(err, ledger.ErrMissing) {
		return err
	}
	return fmt.Errorf("%w; to make one: sotto ledger init --ledger %s", err, redact(address))
}
