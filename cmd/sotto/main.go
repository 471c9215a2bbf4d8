package main

import (
	"context"
	"os"
	"slices"

	"github.com/sotto-dp/sotto/eval"
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/ui"
)

func main() {
	p := &program{root: newRootCommand}
	ui.Main("sotto", &p.Terminal, func(ctx context.Context) int { return p.main(ctx, os.Args[1:]) })
}

// newRootCommand makes the program's command, with all verbs.
func newRootCommand(p *program) *cobra.Command {
	return newRoot(
		p,
		newDemoCommand(p),
		newInitCommand(p),
		newSynthCommand(p),
		newChooseCommand(p),
		newLearnCommand(p),
		newAnswerCommand(p),
		newTableCommand(p),
		newPlanCommand(p),
		newRehearseCommand(p),
		newEvalCommand(p),
		newAccountCommand(p),
		newCalibrateCommand(p),
		newLedgerCommand(p),
		newVerifyCommand(p),
		newAuditCommand(p),
		newServeCommand(p),
		newMCPCommand(p),
		newJobCommand(p),
		newWorkerCommand(p),
		newKeysCommand(p),
		newTaskCommand(p),
		newModelCommand(p),
		newChatCommand(p),
		newVersionCommand(p),
		newCompletionCommand(p),
		newManCommand(p),
	)
}

// program is what all verbs share.
type program struct {
	ui.Terminal
	// places has what flags say of ledger, keys, private folder, store and configuration.
	places config.Places

	// madeKey: the fingerprint key of the private folder, if there is one, is of this command.
	madeKey bool

	// requests are what the flags of verbs are read into that can be jobs.
	requests map[*cobra.Command]any

	// root makes the command of the whole program.
	root func(*program) *cobra.Command

	// self is the program that carries out jobs; "" for this one.
	self string
}

// main runs the verb that args name and returns the exit code.
func (p *program) main(ctx context.Context, args []string) int {
	p.Guard()
	root := p.root(p)
	root.SetArgs(literalPrivate(args))
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	if slices.Contains(args, "-h") {
		root.Annotations = map[string]string{brief: "yes"}
	}
	if cmd, name := misspelt(root, args); name != "" {
		p.JSON = p.JSON || slices.Contains(args, "--json")
		return p.Fail("sotto", cmd.CommandPath(), unknownVerb(cmd, name))
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ui.Done
	}
	// A wrong flag ends the reading of flags, possibly before --json.
	p.JSON = p.JSON || slices.Contains(args, "--json")
	if cmd.Name() == "help" {
		cmd = root // it has no help of its own
	}
	return p.Fail("sotto", cmd.CommandPath(), ui.AsInput[*eval.ItemError](advise(cmd, err)))
}

// usage returns an error about the command line, or what it names.
func usage(format string, args ...any) error { return ui.Usage(format, args...) }

// asUsage makes an error about the command line of one of type T.
func asUsage[T error](err error) error {
	if ui.Is[T](err) {
		return ui.AsUsage(err)
	}
	return err
}
