// Command sotto-beam profiles and perturbs private tables on Apache Beam: on prism in
// this process, or on Flink, Spark or Dataflow.
//
// It does what "sotto table profile" and "sotto table perturb" do: the charge is in the
// ledger before a row is read, and what comes out has a certificate that "sotto verify"
// checks. See README.md in engines/beam for runners and their flags.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"sotto/engines/beam"
	"sotto/private/table"
	"sotto/schema"
)

// version is set when a release is built.
var version = "development"

const usage = `sotto-beam profile --schema S --data 'FILES' --epsilon E --size N --out DIR [flags]
sotto-beam perturb --schema S --data 'FILES' --epsilon E --out DIR [flags]

FILES are paths or globs, separated by commas; DIR is a folder that does not exist yet.
Flags of Beam, such as --runner, --endpoint and --environment_type, can be given too.
`

func main() {
	// Beam starts this program on workers without a verb, and takes over in Init.
	verb, args := "", os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	r := newRequest(flag.CommandLine)
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage, "\n")
		flag.PrintDefaults()
	}
	if err := flag.CommandLine.Parse(args); err != nil {
		os.Exit(2)
	}
	sdk.Init()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r.job.Run = beamx.Run
	if err := do(ctx, verb, r); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

func do(ctx context.Context, verb string, r *request) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is no flag: all arguments are flags, after profile or perturb", flag.Arg(0))
	}
	if err := waits(flag.CommandLine); err != nil {
		return err
	}
	switch verb {
	case "profile":
		return r.profile(ctx)
	case "perturb":
		return r.perturb(ctx)
	case "":
		return errors.New("say what to do: sotto-beam profile or sotto-beam perturb (--help lists flags)")
	default:
		return fmt.Errorf("%q is not known: there are profile and perturb", verb)
	}
}

// waits refuses flags with which Beam does not wait for the end of a job, or does not run
// it: noise is added afterwards, here.
func waits(flags *flag.FlagSet) error {
	for _, name := range []string{"async", "execute_async", "dry_run", "template_location"} {
		if f := flags.Lookup(name); f != nil && f.Value.String() != f.DefValue {
			return fmt.Errorf("--%s cannot be used: this program waits for the job, and adds the noise when it has ended", name)
		}
	}
	return nil
}

// request is what the flags say.
type request struct {
	schema, plan, data, out        string
	ledger, keys, private, dataset string
	epsilon, delta, rate           float64
	size, generate                 int64
	groups, unit, noise, onError   string
	adjacency                      string
	rowsPerUnit                    int
	whole                          bool
	job                            beam.Job
	say                            func(format string, args ...any)
}

func newRequest(f *flag.FlagSet) *request {
	r := &request{say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }}
	f.StringVar(&r.schema, "schema", "", "schema of the table: a ready-made one, or the path of a file (required without --plan)")
	f.StringVar(&r.plan, "plan", "", "a plan.json of another run, of sotto table too: settings, schema and ε are taken from it")
	f.StringVar(&r.data, "data", "", "files of rows: paths or globs, separated by commas (required)")
	f.StringVar(&r.out, "out", "", "folder for what is released; it must not exist, and workers that perturb must see it too (required)")
	f.Float64Var(&r.epsilon, "epsilon", 0, "ε of the whole (required without --plan)")
	f.Float64Var(&r.delta, "delta", 0, "δ; 0 is possible with Laplace noise")
	f.Int64Var(&r.size, "size", 0, "about how many rows there are, as far as that is public")
	f.Float64Var(&r.rate, "rate", 0, "profile: rate of Poisson sampling; all rows unless told")
	f.StringVar(&r.groups, "groups", "", "profile: a partition of the schema, by its number of groups; by the label unless told")
	f.StringVar(&r.adjacency, "adjacency", "", "profile: what neighbours are: add-remove or replace-one (default add-remove)")
	f.StringVar(&r.noise, "noise", "", "profile: laplace or gaussian (default laplace)")
	f.StringVar(&r.unit, "unit", "", "profile: column that says whose row it is; each row unless told")
	f.IntVar(&r.rowsPerUnit, "rows-per-unit", 0, "profile: how many rows of a unit are used at most (default 1)")
	f.BoolVar(&r.whole, "whole", false, "read each file by one worker: for CSV with line breaks in quotes")
	f.StringVar(&r.onError, "on-error", "fail", "what to do about rows that the schema refuses: fail, or skip")
	f.StringVar(&r.ledger, "ledger", "", "ledger that pays: an SQLite file or postgres://… (required)")
	f.StringVar(&r.keys, "keys", "", "key ring to sign the certificate with (required)")
	f.StringVar(&r.private, "private", "", "private folder, by whose key the ledger knows a file again")
	f.StringVar(&r.dataset, "dataset", "", "name or fingerprint of the data set in the ledger; needed unless --data is one file of this machine")
	f.StringVar(&r.job.Scratch, "scratch", "", "folder that this program and all workers, and nobody else, can read and write; a temporary one of this machine unless told")
	f.IntVar(&r.job.Pieces, "pieces", 0, "into how many pieces each file is cut at first, for runners that do not split by themselves")
	f.Int64Var(&r.generate, "generate", 0, "measure a runner with so many made-up rows in place of --data: nothing is charged or signed")
	return r
}

// source is where rows come from.
func (r *request) source() (beam.Source, error) {
	if r.generate > 0 {
		return beam.Source{Generated: &beam.Generated{Rows: r.generate}}, nil
	}
	if r.data == "" {
		return beam.Source{}, errors.New("--data is missing: files of rows, such as 'data/*.csv'")
	}
	f := &beam.Files{Patterns: strings.Split(r.data, ","), Whole: r.whole, OnError: table.OnError(r.onError)}
	return beam.Source{Files: f}, nil
}

// find reads the schema that is named.
func (r *request) find() (schema.Schema, error) {
	if r.schema == "" {
		return schema.Schema{}, errors.New("--schema is missing: a ready-made one such as adult, or the path of a file")
	}
	return schema.Find(r.schema)
}

// read takes a plan from a file.
func (r *request) read(into any) error {
	if r.schema != "" || r.epsilon != 0 {
		return errors.New("--plan says what the schema and ε are: leave out --schema and --epsilon")
	}
	data, err := os.ReadFile(r.plan)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s is no plan of this kind: give the plan.json of a profile to profile, and of a perturbation to perturb: %w", r.plan, err)
	}
	return nil
}
