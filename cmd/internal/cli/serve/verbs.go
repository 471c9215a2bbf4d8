// Package serve has the verbs of a service: the server with its accounts, routes and keys, and tools for
// agents. What a service does is in [github.com/sotto-dp/sotto/cmd/internal/serve].
package serve

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
)

// Verbs are the commands of this package; tools of agents do what other verbs do.
func Verbs(p *cli.Program, does ForAgents) []*cobra.Command {
	return []*cobra.Command{
		newServeCommand(p),
		newMCPCommand(p, does),
	}
}
