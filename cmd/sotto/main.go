package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/budget"
	"github.com/sotto-dp/sotto/cmd/internal/cli/check"
	"github.com/sotto-dp/sotto/cmd/internal/cli/model"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/cmd/internal/cli/serve"
	"github.com/sotto-dp/sotto/cmd/internal/cli/start"
	"github.com/sotto-dp/sotto/cmd/internal/cli/tables"
	"github.com/sotto-dp/sotto/cmd/internal/cli/texts"
)

func main() { root.Main(newRootCommand) }

// newRootCommand makes the program's command, with all verbs.
func newRootCommand(p *cli.Program) *cobra.Command {
	return root.New(p, slices.Concat(
		start.Verbs(p), texts.Verbs(p), tables.Verbs(p), check.Verbs(p), budget.Verbs(p), serve.Verbs(p, agentVerbs(p)), model.Verbs(p),
	)...)
}
