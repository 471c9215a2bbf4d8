package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/audit"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
)

type oneRunOptions struct {
	flags.Model
	confidence float64
	seed       cli.SeedFlag
	methods    []string
	epsilon    cli.Number
	canaries   int
	time       time.Duration
}

// oneRunMethods are what can be audited in one run, each by its own way to make canaries and to
// score what comes out.
var oneRunMethods = map[string]func(*oneRun) error{
	"local": (*oneRun).perturbed, "global": (*oneRun).profiled, "clipped": (*oneRun).written, "mixing": (*oneRun).written,
	"gaussian": (*oneRun).written, "choose": (*oneRun).chosen, "vote": (*oneRun).answered,
}

// oneRunDefaults are those that need no more than a few minutes.
var oneRunDefaults = []string{"local", "global", "clipped", "mixing", "choose", "vote"}

func newAuditOneRunCommand(p *cli.Program) *cobra.Command {
	var opt oneRunOptions
	cmd := &cobra.Command{
		Use:   "one-run [--method NAME] [--epsilon E]",
		Short: "A bound on ε from one run of this program, with many canaries",
		Long: `Runs this program itself once, as users do, on made-up data: canaries, each of
which is in it or not by the toss of a coin. Then an adversary who sees what was
released, and has the same model, says for each whether it was in. The more
often it is right, the larger ε must be (Steinke, Nasr and Jagielski 2023).

Runs are real ones: they reserve, charge and sign, with a ledger and keys in a
temporary folder that is removed in the end, and with noise that nobody can
repeat. With --seed they are marked NOT PRIVATE, and come out the same again.

  local     rows that are perturbed; the coin decides which of two rows it is
  global    noisy counts of a table, a value for each canary
  clipped, mixing, gaussian
            texts that are written; a canary is scored by how much likelier the
            model finds them after it
  choose    a prompt that records choose; a canary is scored by how much likelier
            the model finds its label with the prompt
  vote      answers to the canaries' own questions; the labels of canaries are
            tossed too, so that only the record gives them away

Real texts and answers say little about one record of many, so that bounds on
them are far below ε: "sotto audit" has the inputs that are worst.

A bound above the claimed ε is a failure: the exit code is 4.

` + flags.ModelHelp + ui.JSONKeys(oneRunResult{}),
		Example: `  sotto audit one-run --method local --method global --canaries 2000
  sotto audit one-run --method clipped --epsilon 8 --canaries 200 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case opt.canaries < 16 || opt.canaries > 20000:
				return cli.Usage("--canaries is %d, it should be from 16 to 20000", opt.canaries)
			case !(opt.confidence > 0 && opt.confidence < 1):
				return cli.Usage("--confidence is %v, it should be between 0 and 1, such as 0.95", opt.confidence)
			}
			if !opt.epsilon.Given {
				opt.epsilon.Value = 4
			}
			if len(opt.methods) == 0 {
				opt.methods = oneRunDefaults
			}
			if cmd.Flags().Changed("time") && !slices.Contains(opt.methods, "choose") {
				return cli.Usage("--time is for --method choose, and would change nothing: leave it out")
			}
			for _, m := range opt.methods {
				if oneRunMethods[m] == nil {
					return cli.Usage("--method %s cannot be audited in one run: choose among local, global, clipped, mixing, gaussian, choose and vote", m)
				}
			}
			return runOneRun(cmd.Context(), p, opt)
		},
	}
	opt.Model.Add(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&opt.methods, "method", nil, "audit `NAME`; may be repeated (default: all except gaussian)")
	f.Var(&opt.epsilon, "epsilon", "the ε that each run may cost (default 4)")
	f.IntVar(&opt.canaries, "canaries", 200, "toss a coin for each of `N` canaries")
	f.DurationVar(&opt.time, "time", 2*time.Minute, "with choose: how long the run may take")
	f.Float64Var(&opt.confidence, "confidence", 0.95, "how sure a bound is")
	f.Var(&opt.seed, "seed", "take all random numbers from `N`, to repeat an audit")
	return cmd
}

// oneRunResult is what was found.
type oneRunResult struct {
	OK         bool        `json:"ok"`
	Refuted    bool        `json:"refuted"`
	Confidence float64     `json:"confidence"`
	Runs       []oneRunRow `json:"runs"`
}

// oneRunRow is about one run.
type oneRunRow struct {
	Method  string  `json:"method"`
	Event   string  `json:"event"`
	Claimed ui.Real `json:"epsilon_claimed"`
	Delta   float64 `json:"delta"`
	Private bool    `json:"private"`
	audit.Guesses
	Refuted bool    `json:"refuted"`
	Seconds float64 `json:"seconds"`
}

func (r *oneRunResult) Print(p *ui.Page) {
	head := "No run is beyond its claim"
	if r.Refuted {
		head = "REFUTED: a run is beyond its claim"
	}
	p.Head("%s", head)
	t := ui.NewTable("method", "#claimed ε", "#at least", "#guesses right", "#canaries", "δ", "#seconds", "event")
	for _, row := range r.Runs {
		t.Add(row.Method, ui.AtMost(row.Claimed), ui.AtLeast(row.Epsilon), fmt.Sprintf("%d of %d", row.Right, row.Guesses.Guesses), fmt.Sprint(row.Canaries), ui.Whole(row.Delta), fmt.Sprintf("%.0f", row.Seconds), row.Event)
	}
	p.Table(t)
	p.Line("")
	p.Text(2, fmt.Sprintf("All bounds hold together with a confidence of %v, from one run each.", r.Confidence))
}

func runOneRun(ctx context.Context, p *cli.Program, opt oneRunOptions) error {
	r := &oneRunResult{Confidence: opt.confidence}
	opt.confidence = 1 - (1-opt.confidence)/float64(len(opt.methods))
	for _, name := range opt.methods {
		fmt.Fprintf(p.Stderr, "one run of %s with canaries: %d\n", name, opt.canaries)
		row, err := auditOnce(ctx, p, opt, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.Runs = append(r.Runs, row)
		r.Refuted = r.Refuted || row.Refuted
	}
	r.OK = !r.Refuted
	if err := p.Emit(r); err != nil || !r.Refuted {
		return err
	}
	return ui.Reported("a claim is refuted")
}

// oneRun is the audit of one run.
type oneRun struct {
	*cli.Program
	oneRunOptions
	ctx    context.Context
	name   string
	dir    string
	coins  []bool
	toss   *noise.Stream
	scores []float64
	claim  struct {
		Private   bool              `json:"private"`
		Event     string            `json:"event"`
		Adjacency privacy.Adjacency `json:"adjacency"`
		Epsilon   ui.Real           `json:"epsilon"`
		Delta     float64           `json:"delta"`
	}
}

func auditOnce(ctx context.Context, p *cli.Program, opt oneRunOptions, name string) (row oneRunRow, err error) {
	start := time.Now()
	dir, err := os.MkdirTemp("", "sotto-audit-")
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	key, err := (&auditFlags{seed: opt.seed}).key()
	if err != nil {
		return row, err
	}
	a := &oneRun{Program: p, oneRunOptions: opt, ctx: ctx, name: name, dir: dir, toss: key.Stream("coins " + name)}
	for range opt.canaries {
		a.coins = append(a.coins, a.toss.Bool())
	}
	if _, err := a.self("ledger", "init"); err != nil {
		return row, err
	}
	if err := oneRunMethods[name](a); err != nil {
		return row, err
	}
	// A coin decides whether a canary is there, or in a row that is there which of two it is.
	if want := map[bool]privacy.Adjacency{true: privacy.ReplaceOne, false: privacy.AddRemove}[name == "local"]; a.claim.Adjacency != want {
		return row, fmt.Errorf("the run states %s, and its canaries are about %s", a.claim.Adjacency, want)
	}
	if want := opt.seed.Value == nil; a.claim.Private != want {
		return row, fmt.Errorf("the run says that it is private: %v, and it should say %v", a.claim.Private, want)
	}
	if opt.seed.Value != nil {
		a.claim.Epsilon = ui.Real(opt.epsilon.Value) // what comes of a seed claims nothing
	}
	g, err := audit.Canaries(a.coins, a.scores, a.claim.Delta, opt.confidence)
	if err != nil {
		return row, err
	}
	return oneRunRow{
		Method: name, Event: a.claim.Event, Claimed: a.claim.Epsilon, Delta: a.claim.Delta, Private: a.claim.Private,
		Guesses: g, Refuted: g.Epsilon > float64(a.claim.Epsilon), Seconds: time.Since(start).Seconds(),
	}, nil
}

func (a *oneRun) path(name string) string { return filepath.Join(a.dir, name) }

// self runs this program as a user does, and returns what it prints.
func (a *oneRun) self(args ...string) ([]byte, error) {
	self := a.Program.Self
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the program itself: %w", err)
		}
	}
	cmd := exec.CommandContext(a.ctx, self, append(slices.Clone(args), "--json")...)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "SOTTO_STORE" {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "SOTTO_LEDGER="+a.path("ledger.db"), "SOTTO_KEYS="+a.path("keys"), "SOTTO_PRIVATE="+a.path("private"), "TMPDIR="+a.dir)
	if a.Places.File != "" {
		cmd.Env = append(cmd.Env, "SOTTO_CONFIG="+a.Places.File)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		var said struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(out.Bytes(), &said) == nil && said.Error != "" {
			return nil, fmt.Errorf("sotto %s: %s", strings.Join(args[:min(2, len(args))], " "), said.Error)
		}
		return nil, fmt.Errorf("sotto %s: %w", strings.Join(args[:min(2, len(args))], " "), err)
	}
	return out.Bytes(), nil
}

// run runs a verb that releases something, and keeps what it claims.
func (a *oneRun) run(args ...string) error {
	if a.seed.Value != nil {
		args = append(args, "--seed", a.seed.String())
	}
	out, err := a.self(append(args, "--epsilon", asked(&a.epsilon))...)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, &a.claim)
}

// files writes made-up data.
func (a *oneRun) files(texts map[string]string) error {
	for name, text := range texts {
		if err := os.WriteFile(a.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// read reads a JSON file of a release.
func (a *oneRun) read(name string, into any) error {
	data, err := os.ReadFile(a.path(name))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// adversary opens the same model for the one who attacks.
func (a *oneRun) adversary(use func(lm.Scorer) error) error {
	model, _, _, err := a.OpenScorer(a.ctx, a.Model)
	if err != nil {
		return err
	}
	return errors.Join(use(model), model.Close())
}

// asked is a number as it goes on a command line.
func asked(n *cli.Number) string { return fmt.Sprint(n.Value) }
