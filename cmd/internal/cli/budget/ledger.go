package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/sys/userdir"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

func newLedgerCommand(p *cli.Program) *cobra.Command {
	group := cli.NewGroup("ledger", "Budgets, and what is charged to them",
		`Keeps privacy budgets of data sets. A run reserves its worst case before it
touches any data, and commits when it has released its result; a run that died
keeps its reservation. A charge that does not fit every budget that applies is
refused, and nothing is charged (exit code 3). A data set is its records: saved
anew, sorted or added to, they have the same budget.

The ledger is an SQLite file or a PostgreSQL database. It is named by --ledger,
else by SOTTO_LEDGER, else by "ledger" in your configuration, else it is the
file ledger.db in the user's data directory.`,
		`  sotto ledger init patients --epsilon 4 --delta 1e-6
  sotto ledger reserve patients 'repeat(100, gaussian(40))' --run first --proof proven
  sotto ledger show
  sotto ledger check`,
		newLedgerInitCommand(p),
		newLedgerLinkCommand(p),
		newLedgerKeyCommand(p),
		newLedgerBudgetCommand(p),
		newLedgerGrantCommand(p),
		newLedgerReserveCommand(p),
		newLedgerCommitCommand(p),
		newLedgerForfeitCommand(p),
		newLedgerShowCommand(p),
		newLedgerCheckCommand(p),
	)
	return group
}

// withLedger runs use on the ledger and prints its result once the ledger is
// closed.
func withLedger(ctx context.Context, p *cli.Program, create bool, use func(l *ledger.Ledger, address string) (ui.Result, error)) error {
	address, err := p.LedgerAddress()
	if err != nil {
		return err
	}
	if create {
		if err := makeDataDir(address); err != nil {
			return err
		}
	}
	l, err := ledger.Open(ctx, address, ledger.Options{})
	if create && errors.Is(err, ledger.ErrMissing) {
		if err := warnNew(p, address); err != nil {
			return err
		}
		l, err = ledger.Open(ctx, address, ledger.Options{Create: true})
	}
	if err != nil {
		return cli.ExplainMissing(err, address)
	}
	r, err := use(l, config.Redact(address))
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	return p.Emit(r)
}

// said is a headline that the data set adds nothing to.
func said(format string, args ...any) func(ledger.Dataset) string {
	return func(ledger.Dataset) string { return fmt.Sprintf(format, args...) }
}

// changed runs use on the ledger, and prints the budgets of the data set that it changed below
// a headline, which may name the data set.
func changed(p *cli.Program, cmd *cobra.Command, create bool, headline func(ledger.Dataset) string, use func(context.Context, *ledger.Ledger) (ledger.Dataset, error)) error {
	return withLedger(cmd.Context(), p, create, func(l *ledger.Ledger, address string) (ui.Result, error) {
		d, err := use(cmd.Context(), l)
		if err != nil {
			return nil, err
		}
		return &ledgerResult{Ledger: address, Rows: budgetRows(d), headline: headline(d)}, nil
	})
}

// makeDataDir makes the directory of a file that is in the user's data
// directory; others are for the user to make.
func makeDataDir(address string) error {
	dir, err := userdir.Data()
	if err != nil || filepath.Dir(address) != dir {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// Row is a budget in JSON.
type Row struct {
	Dataset     string             `json:"dataset,omitempty"`
	Fingerprint ledger.Fingerprint `json:"fingerprint"`
	Budget      string             `json:"budget"`
	ledger.Balance
	// Name hides that of Balance, which is Budget.
	Name string `json:"name,omitempty"`
}

func budgetRows(sets ...ledger.Dataset) []Row {
	rows := []Row{}
	for _, d := range sets {
		for _, b := range d.Budgets {
			rows = append(rows, Row{Dataset: d.Name, Fingerprint: d.Fingerprint, Budget: b.Name, Balance: b})
		}
	}
	return rows
}

// title is how people call the data set of a row.
func (r *Row) title() string {
	return cmp.Or(r.Dataset, cli.Abridged(r.Fingerprint))
}

// ledgerResult is the state of budgets after a verb.
type ledgerResult struct {
	Ledger string `json:"ledger"`
	Rows   []Row  `json:"rows"`

	headline string
}

func (r *ledgerResult) Print(p *ui.Page) {
	if r.headline != "" {
		p.Text(0, r.headline)
		p.Line("")
	}
	printBudgets(p, r.Rows)
	p.Line("\n  ledger %s", r.Ledger)
}

func printBudgets(p *ui.Page, rows []Row) {
	if len(rows) == 0 {
		p.Line("  no data set has a budget yet; to give one: sotto ledger init NAME --epsilon E --delta D")
		return
	}
	t := ui.NewTable("data set", "budget", "#ε spent", "#of", "#left", "δ", "charges")
	last := ""
	for i := range rows {
		r := &rows[i]
		name := r.title()
		if name == last {
			name = ""
		}
		last = r.title()
		t.Add(
			name, r.Budget, ui.Directed(float64(r.Spent), 4, +1), ui.Whole(r.Epsilon), ui.Directed(r.Left, 4, -1), ui.Whole(r.Delta), r.charges(),
		)
	}
	t.Paint = func(row, column int) string {
		return ui.If(column == 4 && rows[row].Left == 0, ui.Red)
	}
	p.Table(t)
}

// charges counts what the row's budget was charged, and says what restricts it.
func (r *Row) charges() string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{r.Committed, "committed"}, {r.Reserved, "reserved"}, {r.Forfeited, "forfeited"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "none")
	}
	if !r.Open {
		parts = append(parts, "closed now")
	}
	for _, k := range slices.Sorted(maps.Keys(r.Scope)) {
		parts = append(parts, "for "+k+"="+r.Scope[k])
	}
	return strings.Join(parts, ", ")
}

// instant reads a date or a time.
func instant(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, cli.Usage("--%s is %q, it should be a day such as 2026-01-31 (which begins at midnight UTC) or a time such as 2026-01-31T08:00:00Z", flag, s)
}

// completeDatasets lets shells complete the names of data sets.
func completeDatasets(p *cli.Program) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 {
			return nil, none
		}
		address, err := p.LedgerAddress()
		if err != nil {
			return nil, none
		}
		l, err := ledger.Open(context.WithoutCancel(cmd.Context()), address, ledger.Options{Timeout: 2 * time.Second})
		if err != nil {
			return nil, none
		}
		defer l.Close()
		sets, err := l.List(cmd.Context())
		if err != nil {
			return nil, none
		}
		var names []string
		for _, d := range sets {
			if d.Name != "" {
				names = append(names, d.Name)
			}
		}
		return names, none
	}
}

// Rows are the rows of "sotto ledger show" for a program: data sets without a name have a number in its place.
func Rows(ctx context.Context, p *cli.Program) ([]Row, error) {
	address, err := p.LedgerAddress()
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, address, ledger.Options{})
	if err != nil {
		return nil, err
	}
	sets, err := l.List(ctx)
	if err := errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	for i := range sets {
		if sets[i].Name == "" { // people see its fingerprint then
			sets[i].Name = fmt.Sprintf("data set %d, which has no name", i+1)
		}
	}
	return budgetRows(sets...), nil
}
