// Sotto-lab is the program of the laboratory: comparisons of methods that files describe, their reports,
// and attacks on releases of data that may be shown. Nothing that it makes is private.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/lab/report"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/lm/backend"
)

func main() {
	p := &program{}
	ui.Main("sotto-lab", &p.Terminal, func(ctx context.Context) int { return p.main(ctx, os.Args[1:]) })
}

// program is what all verbs share.
type program struct {
	ui.Terminal
	// places says which configuration is read.
	places config.Places
}

// main runs the verb that args name and returns the exit code.
func (p *program) main(ctx context.Context, args []string) int {
	p.Guard()
	root := newRootCommand(p)
	root.SetArgs(args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ui.Done
	}
	// A wrong flag ends the reading of flags, possibly before --json.
	p.JSON = p.JSON || slices.Contains(args, "--json")
	return p.Fail("sotto-lab", cmd.CommandPath(), ui.AsInput[*eval.ItemError](err))
}

func newRootCommand(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "sotto-lab",
		Short: "Comparisons and attacks",
		Long: `The laboratory of Sotto: it compares methods on data sets that may be shown, and
attacks their releases. Runs are seeded so that they can be repeated: NOTHING
THAT IT MAKES IS PRIVATE, and nothing is charged.

With --json, standard output holds exactly one JSON object, also when a verb
fails: then it has "error" and "code", the exit code. Exit codes: 0 done, 1
failed, 2 wrong usage or input, 4 an attack finds more than ε allows.`,
		Example: `  sotto-lab suite quick --data data
  sotto-lab report sotto-eval/quick
  sotto-lab members --trials 200 --epsilon 1 --seed 1
  sotto-lab secrets`,
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			cmd.SuggestionsMinimumDistance = 2
			near := cmd.SuggestionsFor(args[0])
			return ui.Usage("sotto-lab has no verb %q%s", args[0], ui.If(len(near) > 0, "; did you mean "+strings.Join(near, " or ")+"?"))
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return ui.AsUsage(err) })
	f := root.PersistentFlags()
	f.BoolVar(&p.JSON, "json", false, "print one JSON object instead of a table")
	f.StringVar(&p.places.File, "config", "", "read the configuration from `FILE` (default: sotto/sotto.toml in the folder of your configuration)")
	root.AddCommand(newSuiteCommand(p), newReportCommand(p), newMembersCommand(p), newSecretsCommand(p))
	return root
}

// takes checks a verb's arguments: from required to as many as have names.
func takes(required int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < required:
			return ui.Usage("%s is missing: %s", names[len(args)], cmd.UseLine())
		case len(args) > len(names):
			return ui.Usage("there is one argument too many, %q: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

// modelSpec finds the model to use.
func (p *program) modelSpec(m flags.Model) (backend.Spec, error) {
	settings, err := p.places.Settings()
	if err != nil {
		return backend.Spec{}, ui.AsUsage(err)
	}
	return m.Spec(settings)
}

// openTrusted opens a model that may see records, and says first where they go.
func (p *program) openTrusted(ctx context.Context, spec backend.Spec) (lm.TrustedScorer, error) {
	if to := spec.Destination(); to != "" && spec.Trusted {
		fmt.Fprintln(p.Stderr, to)
	}
	return backend.Trusted(ctx, spec)
}

// documentError makes what is wrong with a task, a suite or a folder of rows an error of usage.
func documentError(err error) error {
	if ui.Is[*document.InvalidError](err) || ui.Is[*document.UnknownError](err) || ui.Is[*os.PathError](err) || ui.Is[*report.InputError](err) {
		return ui.AsUsage(err)
	}
	return err
}
