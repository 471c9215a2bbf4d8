// Package tables has the verbs on private tables: schemas, perturbed rows, profiles of groups, and what is
// estimated and sampled from them.
package tables

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
)

// Verbs are the commands of this package.
func Verbs(p *cli.Program) []*cobra.Command {
	return []*cobra.Command{newTableCommand(p)}
}
