// Package start has the verbs that people begin with: the demo, a new project, and tasks.
package start

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
)

// Verbs are the commands of this package.
func Verbs(p *cli.Program) []*cobra.Command {
	return []*cobra.Command{
		newDemoCommand(p),
		newInitCommand(p),
		newTaskCommand(p),
	}
}
