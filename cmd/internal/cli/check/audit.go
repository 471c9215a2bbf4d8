package check

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/audit"
	"github.com/sotto-dp/sotto/internal/private/worst"
	"github.com/sotto-dp/sotto/internal/sys/version"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// auditFlags are what all audits have.
type auditFlags struct {
	runs       int
	confidence float64
	seed       cli.SeedFlag
	report     string
}

func (o *auditFlags) add(cmd *cobra.Command, runs int, of string) {
	f := cmd.Flags()
	f.IntVar(&o.runs, "runs", runs, "play `N` "+of+", half of them with the record")
	f.Float64Var(&o.confidence, "confidence", 0.99, "how sure a bound is")
	f.Var(&o.seed, "seed", "take all random numbers from `N`, to repeat an audit")
	f.StringVar(&o.report, "report", "", "write a page with plots to `FILE`.html")
}

func (o *auditFlags) check(minRuns int) error {
	switch {
	case o.runs < minRuns || o.runs > 1e8:
		return cli.Usage("--runs is %d, it should be from %d to 100000000: a bound needs runs to count", o.runs, minRuns)
	case !(o.confidence > 0 && o.confidence < 1):
		return cli.Usage("--confidence is %v, it should be between 0 and 1, such as 0.99", o.confidence)
	case o.report != "" && !strings.HasSuffix(o.report, ".html"):
		return cli.Usage("--report %s should end in .html", o.report)
	}
	return nil
}

// key is what all randomness of a simulation comes from.
func (o *auditFlags) key() (noise.Key, error) {
	if o.seed.Value != nil {
		return noise.KeyFromSeed(*o.seed.Value), nil
	}
	return noise.NewKey()
}

// write writes a page, if one is wanted.
func (o *auditFlags) write(p audit.Page) error {
	if o.report == "" {
		return nil
	}
	p.Made = "Made by sotto " + version.Read().Version + "."
	return p.Save(o.report)
}

type auditOptions struct {
	auditFlags
	mechanisms []string
	commandOptions
}

func newAuditCommand(p *cli.Program) *cobra.Command {
	var opt auditOptions
	cmd := &cobra.Command{
		Use:   "audit [--mechanism NAME] | audit --command CMD --with FILE --without FILE",
		Short: "Attacks that try to prove a guarantee wrong",
		Long: `Plays a game that differential privacy loses if its ε is too small. A mechanism
runs with a record or without it, an adversary who knows all else says which,
and how often it is wrong bounds ε from below. A bound above what is claimed
refutes the claim; one near it shows that the audit has teeth and that the
accounting is tight.

Without --command it plays the mechanisms of this program, each on the inputs
that are worst for it: draws, choices and noise are those that run, records are
made up. Two bounds are given: what ε is at least, whatever the mechanism is,
and what a claim of the same shape (the event, with noise of another size) has
to state at least. A claim is judged by all of its curve of ε and δ; if all keep
theirs, one or more are refuted with a probability of 1 - confidence at most.
Mechanisms that run a whole loop with a model get a tenth of the runs.

With --command it plays any other program, by what it prints: {data} in the
command becomes one of two files that differ in a record, {seed} a new number,
and {runs} how many lines to print. A program that knows {runs} prints a run on
each line, which saves starting it as often. What distinguishes outputs (their
words, their numbers, their length) is learnt on the first half of the runs, and
tried on the second. Runs have to be independent, also those of one start. A
command runs in sh, as you, with your rights.

A refuted claim is a failure: the exit code is 4.` + ui.JSONKeys(auditResult{}, `An infinite ε is the text "Infinity". games is for mechanisms of this program, and has one element with --command.`),
		Example: `  sotto audit
  sotto audit --mechanism clipped --runs 1000000 --seed 1 --report audit.html
  sotto audit --command './count.sh {data}' --with a.csv --without b.csv --claim 'laplace(1)' --runs 2000`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opt.check(100); err != nil {
				return err
			}
			given := cmd.Flags().Changed
			if opt.command == "" {
				if err := opt.unused(given); err != nil {
					return err
				}
				return runAudit(cmd.Context(), p, opt)
			}
			return runAuditCommand(cmd.Context(), p, opt)
		},
	}
	opt.auditFlags.add(cmd, 100_000, "runs of each mechanism, or of the command")
	cmd.Flags().StringArrayVar(&opt.mechanisms, "mechanism", nil, "play only `NAME`; may be repeated (default: all)")
	opt.commandOptions.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("mechanism", "command")
	cmd.MarkFlagsRequiredTogether("command", "with", "without")
	return cmd
}

// auditResult is what an audit found.
type auditResult struct {
	OK         bool        `json:"ok"`
	Refuted    bool        `json:"refuted"`
	Confidence float64     `json:"confidence"`
	Seeded     bool        `json:"seeded"`
	Games      []auditGame `json:"games"`
	Report     string      `json:"report,omitempty"`
}

// auditGame is what was found about one mechanism.
type auditGame struct {
	Name       string            `json:"name"`
	Inputs     string            `json:"inputs"`
	Event      string            `json:"event"`
	Adjacency  privacy.Adjacency `json:"adjacency"`
	Delta      float64           `json:"delta"`
	Claimed    ui.Real           `json:"epsilon_claimed"`
	MinEpsilon ui.Real           `json:"epsilon_at_least"`
	Shaped     ui.Real           `json:"epsilon_at_least_as_described"`
	Refuted    bool              `json:"refuted"`
	Runs       int               `json:"runs"`
	Seconds    float64           `json:"seconds"`
	Curve      audit.Curve       `json:"curve"`
}

// best is the better of the two bounds.
func (g auditGame) best() float64 { return max(float64(g.MinEpsilon), float64(g.Shaped)) }

// share is how much of what is claimed was found.
func (g auditGame) share() string {
	if c := float64(g.Claimed); c > 0 && !math.IsInf(c, 1) {
		return fmt.Sprintf("%.0f %%", 100*g.best()/c)
	}
	return ""
}

func (r *auditResult) Print(p *ui.Page) {
	p.Head("%s", r.headline())
	t := ui.NewTable("mechanism", "#claimed ε", "#at least", "#as described", "#found", "δ", "#runs", "event")
	for _, g := range r.Games {
		name := g.Name
		if g.Refuted {
			name += ", REFUTED"
		}
		t.Add(name, ui.AtMost(g.Claimed), ui.AtLeast(g.MinEpsilon), ui.AtLeast(g.Shaped), g.share(), ui.Whole(g.Delta), fmt.Sprint(g.Runs), g.Event)
	}
	p.Table(t)
	p.Line("")
	p.Text(2, fmt.Sprintf("“at least” holds for any mechanism; “as described” is what a claim of the same shape has to state. The conclusion on all of them has a confidence of %v.", r.Confidence))
	p.Facts("report", r.Report)
}

func (r *auditResult) headline() string {
	var refuted []string
	for _, g := range r.Games {
		if g.Refuted {
			refuted = append(refuted, g.Name)
		}
	}
	switch {
	case len(refuted) == 0 && len(r.Games) == 1 && r.Games[0].Event == noClaim:
		return "No claim was given: ε is at least " + ui.AtLeast(r.Games[0].MinEpsilon)
	case len(refuted) == 0 && len(r.Games) == 1:
		return "The claim is not refuted"
	case len(refuted) == 0:
		return fmt.Sprintf("No claim of %d is refuted", len(r.Games))
	}
	return "REFUTED: " + strings.Join(refuted, ", ")
}

// noClaim stands where an event would.
const noClaim = "none"

// fewer is how many times fewer runs a whole loop with a model gets.
const fewer = 10

func runAudit(ctx context.Context, p *cli.Program, opt auditOptions) error {
	games, err := worst.Find(opt.mechanisms)
	if err != nil {
		return cli.Usage("--mechanism: %w", err)
	}
	key, err := opt.key()
	if err != nil {
		return err
	}
	r := &auditResult{Confidence: opt.confidence, Seeded: opt.seed.Value != nil, Report: opt.report}
	opt.confidence = 1 - (1-opt.confidence)/float64(len(games))
	for i, g := range games {
		n := max(50, opt.runs/2)
		if g.Whole {
			n = max(50, n/fewer)
		}
		start, bar := time.Now(), p.SharedBar(fmt.Sprintf("%d/%d %s", i+1, len(games), g.Name))
		with, without, err := g.Runs(ctx, key.Derive(g.Name), n, runtime.GOMAXPROCS(0), func(done int64) { bar.Show(int(done), 2*n, "runs") })
		bar.Clear()
		if err != nil {
			return fmt.Errorf("%s: %w", g.Name, err)
		}
		found, err := judged(ctx, with, without, audit.Claim{Event: g.Claim, Adjacency: g.Adjacency, Delta: g.Delta}, opt.auditFlags)
		if err != nil {
			return fmt.Errorf("%s: %w", g.Name, err)
		}
		found.Name, found.Inputs, found.Seconds = g.Name, g.Inputs, time.Since(start).Seconds()
		r.Games = append(r.Games, found)
	}
	return finishAudit(p, r, opt.auditFlags, "The mechanisms of this program, each on the inputs that are worst for it")
}
