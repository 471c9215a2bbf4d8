// Command sotto-beam profiles and perturbs private tables on Apache Beam: on prism in
// this process, or on Flink, Spark or Dataflow.
//
// It does what "sotto table profile" and "sotto table perturb" do, through the same
// library: the charge is in the ledger before a row is used, and what comes out has a
// certificate that "sotto verify" checks. See README.md in engines/beam for runners and
// their flags.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/engines/beam"
	"github.com/sotto-dp/sotto/engines/internal/tablecmd"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/ui"
)

const usage = `sotto-beam profile --schema S --data 'FILES' --size N --epsilon E --out DIR [flags]
sotto-beam perturb --schema S --data 'FILES' --epsilon E --out DIR [flags]

FILES are paths or globs, separated by commas. Flags of Beam, such as --runner, --endpoint
and --environment_type, can be given too. The same command resumes with a run that was
interrupted, and nothing is charged twice. Exit codes are as for sotto: 2 if what was
asked for is wrong, 3 if a budget does not allow it, 4 if a ledger was tampered with, 1 for
all else.
`

func main() {
	args := os.Args[1:]
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && !strings.Contains(args[0], "help") && args[0] != "-h" {
		// Beam starts this program on workers without a verb, and takes over in Init.
		flag.Parse()
		sdk.Init()
		args = nil
	}
	p := &program{flags: flag.CommandLine, run: beamx.Run, begin: sdk.Init}
	ui.Main("sotto-beam", &p.terminal, func(ctx context.Context) int { return p.execute(ctx, args) })
}

// program is what differs in tests: whose flags, and who runs jobs.
type program struct {
	flags *flag.FlagSet
	run   func(context.Context, *sdk.Pipeline) error
	begin func()

	terminal ui.Terminal
	o        beam.Options
	generate int64
}

// execute runs the verb that args name, and returns the exit code.
func (p *program) execute(ctx context.Context, args []string) int {
	c := tablecmd.Command{
		Name: "sotto-beam", Usage: usage, Flags: p.flags,
		Data: "files of rows: paths or globs, separated by commas",
		Add:  p.add, Parsed: p.parsed, Source: p.source, Measure: p.measure,
	}
	return c.Execute(ctx, &p.terminal, args)
}

func (p *program) add(_ string, f *flag.FlagSet) {
	f.BoolVar(&p.o.Whole, "whole", false, "read each file by one worker: for CSV with line breaks in quotes")
	f.StringVar(&p.o.Job.Scratch, "scratch", "", "folder that this program and all workers, and nobody else, can read and write; default: a temporary one of this machine")
	f.IntVar(&p.o.Job.Pieces, "pieces", 0, "into how many pieces each file is cut at first, for runners that do not split by themselves")
	f.Int64Var(&p.generate, "generate", 0, "measure a runner with so many made-up rows in place of --data: nothing is written, charged or signed")
}

// parsed refuses flags with which Beam does not wait for the end of a job, or does not run
// it: noise is added afterwards, here.
func (p *program) parsed(f *flag.FlagSet) error {
	for _, name := range []string{"async", "execute_async", "dry_run", "template_location"} {
		if f := f.Lookup(name); f != nil && f.Value.String() != f.DefValue {
			return ui.Usage("--%s cannot be used: this program waits for the job, and adds the noise when it has ended", name)
		}
	}
	if p.begin != nil {
		p.begin()
	}
	p.o.Job.Run = p.run
	return nil
}

func (p *program) source(data string) (sotto.TableSource, string, error) {
	patterns := strings.Split(data, ",")
	name := ""
	if len(patterns) == 1 && !strings.ContainsAny(data, "*?[") && !strings.Contains(data, "://") {
		base := filepath.Base(data)
		for _, packed := range []string{".gz", ".zst"} {
			base = strings.TrimSuffix(base, packed)
		}
		name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return beam.Source(patterns, p.o), name, nil
}

// measure runs a plan on made-up rows.
func (p *program) measure(ctx context.Context, profile *plan.Profile, local *plan.Local, stderr io.Writer) (bool, error) {
	if p.generate <= 0 {
		return false, nil
	}
	start := time.Now()
	var err error
	if profile != nil {
		err = beam.MeasureProfile(ctx, *profile, p.generate, p.o.Job)
	} else {
		err = p.perturbMadeUp(ctx, *local)
	}
	if err == nil {
		fmt.Fprintf(stderr, "%d made-up rows in %v: nothing was written or charged, and there is no certificate\n", p.generate, time.Since(start).Round(time.Millisecond))
	}
	return true, err
}

// perturbMadeUp writes rows where workers can write, and removes them.
func (p *program) perturbMadeUp(ctx context.Context, l plan.Local) error {
	scratch := p.o.Job.Scratch
	if strings.Contains(scratch, "://") {
		return ui.Usage("--scratch must be a folder of this machine, or one that is mounted here and on all workers, to perturb made-up rows")
	}
	folder, err := os.MkdirTemp(scratch, "sotto-made-up-")
	if err != nil {
		return err
	}
	return beam.MeasurePerturb(ctx, l, p.generate, folder, p.o.Job)
}
