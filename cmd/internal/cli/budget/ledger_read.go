package budget

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// showResult is all about one data set.
type showResult struct {
	Ledger      string             `json:"ledger"`
	Dataset     string             `json:"dataset,omitempty"`
	Fingerprint ledger.Fingerprint `json:"fingerprint"`
	Created     time.Time          `json:"created"`
	AsOf        int64              `json:"as_of"`
	Budgets     []Row              `json:"budgets"`
	Versions    []ledger.Version   `json:"versions"`
	Links       []ledger.Link      `json:"links,omitempty"`
	Changes     []ledger.Change    `json:"changes"`
	// Rows are the charges.
	Rows []chargeRow `json:"rows"`
}

func newLedgerShowCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "show [DATASET]",
		Short: "All budgets and what is left of them, or all about one data set",
		Long: `Without DATASET, lists the budgets of all data sets. "ε spent" is the cost of
all charges of a budget together, as its composition measures it.

With DATASET, shows one data set, by its name or the fingerprint of a version:
its budgets and those of data sets that it is linked with (as DATASET:BUDGET),
the states of its data that the ledger knows, and what its owner decided about
data sets that it shares records with.` + ui.JSONKeys(ledgerResult{}, "With DATASET: "+ui.KeyList(showResult{})+"; rows are the charges."),
		Example: `  sotto ledger show
  sotto ledger show patients --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			return cli.Takes([]string{"DATASET"}[:min(len(args), 1)]...)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return withLedger(cmd.Context(), p, false, func(l *ledger.Ledger, address string) (ui.Result, error) {
					sets, err := l.List(cmd.Context())
					return &ledgerResult{Ledger: address, Rows: budgetRows(sets...)}, err
				})
			}
			return withLedger(cmd.Context(), p, false, func(l *ledger.Ledger, address string) (ui.Result, error) {
				d, err := l.Show(cmd.Context(), args[0])
				if err != nil {
					return nil, err
				}
				charges := make([]chargeRow, len(d.Charges))
				for i, c := range d.Charges {
					charges[i] = chargeRow{d.Name, d.Fingerprint, c}
				}
				return &showResult{address, d.Name, d.Fingerprint, d.Created, d.AsOf, budgetRows(d), d.Versions, d.Links, d.Changes, charges}, nil
			})
		},
		ValidArgsFunction: completeDatasets(p),
	}
}

func (r *showResult) Print(p *ui.Page) {
	p.Line("%s", p.Paint(ui.Bold, "data set "+r.Dataset))
	p.Line("%s\n", r.Fingerprint)
	p.Facts(
		"entered", r.Created.Format(time.RFC3339),
		"protects", fmt.Sprintf("each %s, %s", r.Budgets[0].Unit, r.Budgets[0].Adjacency),
		"ledger", r.Ledger,
	)
	p.Line("")
	printBudgets(p, r.Budgets)
	p.Line("")
	for _, b := range r.Budgets {
		p.Line("  %s", strings.Join(ui.Fold(b.Budget+" is "+string(b.Composition)+": "+b.Basis, ui.Width-4), "\n    "))
	}
	p.Line("")
	changes := ui.NewTable("#row", "day", "change", "budget", "ε", "δ", "reason")
	for _, c := range r.Changes {
		changes.Add(fmt.Sprint(c.Row), cli.Date(c.Time), c.Kind, c.Budget, ui.Whole(c.Epsilon), ui.Whole(c.Delta), c.Reason)
	}
	p.Table(changes)
	r.printVersions(p)
	if len(r.Rows) == 0 {
		p.Line("\n  nothing is charged yet")
		return
	}
	p.Line("")
	charges := ui.NewTable("charge", "state", "day", "run and event")
	for _, c := range r.Rows {
		what := c.Run + ": " + c.Event
		what += ui.If(c.Spent != "", ", of which "+c.Spent+" was spent")
		what += ui.If(c.Series, fmt.Sprintf(", a series of which %d are drawn", c.Drawn))
		for _, cost := range c.Costs {
			what += fmt.Sprintf("; costs %s ε = %s, δ = %s", cost.Budget, ui.AtMost(cost.Epsilon), ui.AtMost(cost.Delta))
		}
		charges.Add(string(c.ID), string(c.State), cli.Date(c.Reserved), what)
	}
	p.Table(charges)
}

// printVersions shows the states of the data, and what the owner decided about it.
func (r *showResult) printVersions(p *ui.Page) {
	p.Line("")
	versions := ui.NewTable("#row", "day", "version", "known by")
	for _, v := range r.Versions {
		by := "its bytes or place alone"
		if v.Recognised {
			by = "its records"
		}
		by += ui.If(v.Reason != "", ", linked: "+v.Reason)
		versions.Add(fmt.Sprint(v.Row), cli.Date(v.Time), cli.Abridged(v.Fingerprint), by)
	}
	p.Table(versions)
	if len(r.Links) == 0 {
		return
	}
	p.Line("")
	links := ui.NewTable("#row", "day", "decision", "reason")
	for _, l := range r.Links {
		name := cmp.Or(l.Name, string(l.Dataset))
		what := "counts toward " + name + " too"
		if l.Kind == "apart" {
			what = "has other people than " + name
		}
		links.Add(fmt.Sprint(l.Row), cli.Date(l.Time), what, l.Reason)
	}
	p.Table(links)
}

// checkResult is a ledger found in order.
type checkResult struct {
	OK         bool   `json:"ok"`
	Ledger     string `json:"ledger"`
	Checkpoint string `json:"checkpoint"`
	Entries    int64  `json:"entries"`
	Charges    int    `json:"charges"`
	Agrees     int    `json:"checkpoints_compared"`
	Rows       []Row  `json:"rows"`
}

func (r *checkResult) Print(p *ui.Page) {
	p.Line("%s\n", p.Paint(ui.Green, fmt.Sprintf("the ledger is in order: no budget is overspent (rows: %d, charges: %d)", r.Entries, r.Charges)))
	if r.Agrees == 0 {
		p.Text(2, "Compared with no checkpoint: a change that rewrote all rows after it is not found. Keep the line below where those who can write to the ledger cannot, and give it to --checkpoint next time.")
	} else {
		p.Line("  Checkpoints that it agrees with: %d. To compare with next time:", r.Agrees)
	}
	p.Line("\n%s\n", r.Checkpoint)
	printBudgets(p, r.Rows)
	p.Line("\n  ledger %s", r.Ledger)
}

func newLedgerCheckCommand(p *cli.Program) *cobra.Command {
	var given []string
	cmd := &cobra.Command{
		Use:   "check [--checkpoint TEXT|FILE]…",
		Short: "Verify the hash chain and all budgets from scratch",
		Long: `Reads the whole ledger again and verifies that its rows are linked without a
gap, that each could be written where it stands, that it agrees with the given
checkpoints, and that no budget is overspent. It prints a checkpoint: one line
that fixes all rows up to now. Keep it where those who can write to the ledger
cannot, and give it to --checkpoint next time. A ledger that is not in order
gives exit code 4 and the first bad row.` + ui.JSONKeys(checkResult{}, "When not in order: error, code, row."),
		Example: `  sotto ledger check
  sotto ledger check | grep ^sotto-ledger-checkpoint >> checkpoints.txt
  sotto ledger check --checkpoint checkpoints.txt`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			points, err := checkpoints(given)
			if err != nil {
				return err
			}
			return withLedger(cmd.Context(), p, false, func(l *ledger.Ledger, address string) (ui.Result, error) {
				r, err := l.Check(cmd.Context(), ledger.CheckOptions{Checkpoints: points})
				if err != nil {
					return nil, err
				}
				return &checkResult{true, address, r.Checkpoint.String(), r.Rows, r.Charges, len(points), budgetRows(r.Datasets...)}, nil
			})
		},
	}
	cmd.Flags().StringArrayVar(&given, "checkpoint", nil, "a checkpoint that the ledger must agree with, or a `FILE` of them, one a line; may be repeated")
	return cmd
}

// checkpoints reads each as a checkpoint or as a file of them.
func checkpoints(given []string) ([]ledger.Checkpoint, error) {
	var points []ledger.Checkpoint
	for _, text := range given {
		where := "--checkpoint"
		if !strings.HasPrefix(strings.TrimSpace(text), "sotto-ledger-checkpoint/") {
			data, err := bounded.ReadFile(text, bounded.Large)
			if err != nil {
				return nil, cli.Usage("--checkpoint: it is neither a checkpoint nor a file of them: %w", err)
			}
			where, text = text, string(data)
		}
		before := len(points)
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) == "" {
				continue
			}
			c, err := ledger.ParseCheckpoint(line)
			if err != nil {
				return nil, cli.Usage("%s: %w", where, err)
			}
			points = append(points, c)
		}
		if len(points) == before {
			return nil, cli.Usage("%s holds no checkpoint", where)
		}
	}
	return points, nil
}
