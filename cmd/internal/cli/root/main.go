// Package root is the command of the program: it runs verbs, helps with them, and says of errors what to do next.
// Verbs are given to it; those about the program itself (version, completion, man) are its own.
package root

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/ui"
)

// Main runs the program whose command a function makes, and exits.
func Main(root func(*cli.Program) *cobra.Command) {
	p := &cli.Program{Root: root}
	ui.Main("sotto", &p.Terminal, func(ctx context.Context) int { return Run(ctx, p, os.Args[1:]) })
}

// Run runs the verb that args name and returns the exit code.
func Run(ctx context.Context, p *cli.Program, args []string) int {
	p.Guard()
	root := p.Root(p)
	root.SetArgs(cli.LiteralPrivate(args))
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	if slices.Contains(args, "-h") {
		root.Annotations = map[string]string{brief: "yes"}
	}
	if cmd, name := misspelt(root, args); name != "" {
		p.JSON = p.JSON || slices.Contains(args, "--json")
		return p.Fail("sotto", cmd.CommandPath(), cli.UnknownVerb(cmd, name))
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
