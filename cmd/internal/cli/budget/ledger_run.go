package budget

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// chargeRow is a charge in JSON.
type chargeRow struct {
	// Dataset hides that of Charge, which is Fingerprint.
	Dataset     string             `json:"dataset,omitempty"`
	Fingerprint ledger.Fingerprint `json:"fingerprint"`
	ledger.Charge
}

// chargeResult is a charge and the budgets of its data set.
type chargeResult struct {
	Ledger string `json:"ledger"`
	chargeRow
	Rows []Row `json:"rows"`
}

func (r *chargeResult) Print(p *ui.Page) {
	p.Head("charge %s is %s%s", r.ID, r.State, ui.If(r.Existed, ", by an earlier command with the same key"))
	p.Facts("event", r.Event, "spent", r.Spent, "run", r.Run, "key", r.Key, "reason", r.Reason)
	p.Line("")
	printBudgets(p, r.Rows)
	p.Line("\n  ledger %s", r.Ledger)
}

// charged runs use on the ledger, and prints the charge with the budgets of its data set.
func charged(p *cli.Program, cmd *cobra.Command, use func(context.Context, *ledger.Ledger) (ledger.Charge, error)) error {
	return withLedger(cmd.Context(), p, false, func(l *ledger.Ledger, address string) (ui.Result, error) {
		c, err := use(cmd.Context(), l)
		if err != nil {
			return nil, err
		}
		d, err := l.Balance(cmd.Context(), string(c.Dataset))
		if err != nil {
			return nil, fmt.Errorf("charge %s is %s, but its budgets cannot be read: %w", c.ID, c.State, err)
		}
		return &chargeResult{address, chargeRow{d.Name, d.Fingerprint, c}, budgetRows(d)}, nil
	})
}

type reserveOptions struct {
	run, key, proof string
	adjacency       string
	unit            cli.UnitFlag
	labels          []string
}

func newLedgerReserveCommand(p *cli.Program) *cobra.Command {
	var opt reserveOptions
	cmd := &cobra.Command{
		Use:   "reserve DATASET EXPR --run NAME --proof proven",
		Short: "Charge the worst case of a run, before it touches any data",
		Long: `Charges an event, the most that a run may do, to every budget that applies, or
to none. It counts from now on, whatever becomes of the run. Only when this
command exits with 0 may the run read private data; exit code 3 means that a
budget refused and nothing was charged.

--key makes the command repeatable: a second one with the same key and
otherwise the same charges nothing and returns the first one's charge. One key
stands for one set of random numbers. Without --key a new one is drawn.

--proof proven is your word that a theorem backs the event. Nothing else is
booked: claims without proof and seeded runs have no place in a budget.` + ui.JSONKeys(chargeResult{}, "When refused: error, code, refused ("+ui.KeyList(ledger.RefusedError{})+")."),
		Example: `  sotto ledger reserve patients 'repeat(100, poisson(20/30000, gaussian(0.51)))' --run agnews-1 --proof proven
  sotto ledger reserve patients 'laplace(10)' --run daily --key daily-2026-01-31 --label team=risk --proof proven`,
		Args:              cli.Takes("DATASET", "EXPR"),
		RunE:              func(cmd *cobra.Command, args []string) error { return runReserve(cmd, p, args[0], args[1], opt) },
		ValidArgsFunction: completeDatasets(p),
	}
	f := cmd.Flags()
	f.StringVar(&opt.run, "run", "", "what people call the run; required")
	f.StringVar(&opt.key, "key", "", "makes the command repeatable (default: drawn at random)")
	cli.AddChoice(cmd, &opt.proof, "proof", "", "what the event rests on; required, and only \"proven\" is booked", string(ledger.Proven))
	f.StringArrayVar(&opt.labels, "label", nil, "a `LABEL=VALUE` that decides which scoped budgets apply; may be repeated")
	cli.AddAdjacency(cmd, &opt.adjacency)
	opt.unit.Add(cmd)
	return cmd
}

func runReserve(cmd *cobra.Command, p *cli.Program, dataset, expr string, opt reserveOptions) error {
	e, err := cli.ParseEvent(expr)
	if err != nil {
		return err
	}
	for _, required := range []struct{ flag, value, why string }{
		{"run", opt.run, "name the run, people will look for it"},
		{"proof", opt.proof, "--proof proven says that a theorem backs the event"},
	} {
		if required.value == "" {
			return cli.Usage("--%s is missing: %s", required.flag, required.why)
		}
	}
	adjacency, err := privacy.ParseAdjacency(opt.adjacency)
	if err != nil {
		return ui.AsUsage(err)
	}
	req := ledger.ReserveRequest{
		Dataset: dataset, Event: e, Adjacency: adjacency, Unit: cmp.Or(opt.unit.Unit, privacy.Record),
		Proof: ledger.Proof(opt.proof), Run: opt.run, Key: opt.key,
	}
	if req.Labels, err = ui.Pairs("label", opt.labels); err != nil {
		return err
	}
	if req.Key == "" {
		req.Key = rand.Text()
	}
	return charged(p, cmd, func(ctx context.Context, l *ledger.Ledger) (ledger.Charge, error) {
		c, err := l.Reserve(ctx, req)
		if errors.Is(err, ledger.ErrUnknown) {
			err = fmt.Errorf("%w; the charge may count, and the run may not read data: repeat the command with --key %s", err, req.Key)
		}
		return c, err
	})
}

func newLedgerCommitCommand(p *cli.Program) *cobra.Command {
	var spent string
	cmd := &cobra.Command{
		Use:   "commit CHARGE",
		Short: "Report that the run of a charge released its result",
		Long: `Marks a reserved charge as committed. It continues counting in full, unless the
run decided through a privacy filter when to stop: then --spent says what it
really did, if all budgets of the charge are adaptive. With --spent you state
that the run stopped through a filter.
Committing again changes nothing.` + ui.JSONKeys(chargeResult{}),
		Example: `  sotto ledger commit 8f0c41d2a7b35e6f9012ab34
  sotto ledger commit 8f0c41d2a7b35e6f9012ab34 --spent 'repeat(60, gaussian(40))'`,
		Args: cli.Takes("CHARGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := ledger.CommitRequest{Charge: ledger.ChargeID(args[0])}
			if spent != "" {
				var err error
				req.Filtered = true
				if req.Spent, err = cli.ParseEvent(spent); err != nil {
					return err
				}
			}
			return charged(p, cmd, func(ctx context.Context, l *ledger.Ledger) (ledger.Charge, error) { return l.Commit(ctx, req) })
		},
	}
	cmd.Flags().StringVar(&spent, "spent", "", "the event that really ran, as `EXPR`, of a run that stopped through a privacy filter")
	return cmd
}

func newLedgerForfeitCommand(p *cli.Program) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "forfeit CHARGE --reason TEXT",
		Short: "Give a run up; its charge counts for ever",
		Long: `Marks a reserved charge as forfeited: the run died or was given up, and may
have released something before. The charge continues counting in full. Nothing
ever gives a reservation back.` + ui.JSONKeys(chargeResult{}),
		Example: "  sotto ledger forfeit 8f0c41d2a7b35e6f9012ab34 --reason 'power cut'",
		Args:    cli.Takes("CHARGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason == "" {
				return cli.Usage("--reason is missing: say why, it stays in the ledger")
			}
			return charged(p, cmd, func(ctx context.Context, l *ledger.Ledger) (ledger.Charge, error) {
				return l.Forfeit(ctx, ledger.ForfeitRequest{Charge: ledger.ChargeID(args[0]), Reason: reason})
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record; required")
	return cmd
}
