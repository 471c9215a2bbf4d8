package check

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/audit"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
)

// commandOptions are about audits of other programs.
type commandOptions struct {
	command, with, without string
	claim                  string
	delta                  cli.Number
	adjacency              string
}

func (o *commandOptions) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.command, "command", "", "audit what `CMD` prints, a command of the shell; {data}, {seed} and {runs} are filled in")
	f.StringVar(&o.with, "with", "", "with --command: the `FILE` that {data} is with the record")
	f.StringVar(&o.without, "without", "", "with --command: the `FILE` that {data} is without it, or with another in its place")
	f.StringVar(&o.claim, "claim", "", "with --command: what the program claims, as an `EVENT` such as 'pure(1)'; without it nothing is refuted")
	f.Var(&o.delta, "delta", "with --command: the δ of the claim (default 0)")
	cli.AddChoice(cmd, &o.adjacency, "adjacency", string(privacy.AddRemove), "with --command: how the two files differ", string(privacy.AddRemove), string(privacy.ReplaceOne))
}

// unused refuses flags that change nothing without --command.
func (o *commandOptions) unused(given func(string) bool) error {
	for _, name := range []string{"claim", "delta", "adjacency"} {
		if given(name) {
			return cli.Usage("--%s is for --command, and would change nothing: leave it out", name)
		}
	}
	return nil
}

// claimed is what the program claims, everything if nothing.
func (o *commandOptions) claimed() (audit.Claim, error) {
	c := audit.Claim{Event: privacy.NonPrivate{}, Adjacency: privacy.Adjacency(o.adjacency), Delta: o.delta.Value}
	if o.claim != "" {
		e, err := cli.ParseEvent(o.claim)
		if err != nil {
			return c, err
		}
		c.Event = e
	}
	if !(c.Delta >= 0 && c.Delta < 1) {
		return c, cli.Usage("--delta is %v, it should be at least 0 and below 1", c.Delta)
	}
	return c, nil
}

func runAuditCommand(ctx context.Context, p *cli.Program, opt auditOptions) error {
	for _, file := range []string{opt.with, opt.without} {
		if _, err := os.Stat(file); err != nil {
			return cli.Usage("%s cannot be read: %w", file, err)
		}
	}
	claim, err := opt.claimed()
	if err != nil {
		return err
	}
	if opt.with == opt.without {
		return cli.Usage("--with and --without are the same file: they should differ in one record")
	}
	start, bar := time.Now(), p.SharedBar("the command")
	program := audit.Program{
		Command: opt.command, Seed: opt.seed.Value, Workers: runtime.GOMAXPROCS(0),
		Observe: func(done, all int) { bar.Show(done, all, "runs") },
	}
	with, without, err := program.Play(ctx, opt.with, opt.without, opt.runs/2)
	bar.Clear()
	if err != nil {
		return err
	}
	in, out, statistic, err := audit.Outputs(with, without)
	if err != nil {
		return err
	}
	found, err := judged(ctx, in, out, claim, opt.auditFlags)
	if err != nil {
		return err
	}
	found.Name, found.Runs, found.Seconds = "command", len(with)+len(without), time.Since(start).Seconds()
	found.Inputs = fmt.Sprintf("%s and %s; outputs are distinguished by %s", opt.with, opt.without, statistic)
	if opt.claim == "" {
		found.Event, found.Claimed, found.Refuted = noClaim, ui.Real(math.Inf(1)), false
	}
	r := &auditResult{Confidence: opt.confidence, Seeded: opt.seed.Value != nil, Report: opt.report, Games: []auditGame{found}}
	return finishAudit(p, r, opt.auditFlags, "A program, by what it prints")
}
