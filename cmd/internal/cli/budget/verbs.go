// Package budget has the verbs about what events cost, what data sets may spend, and the keys that sign.
package budget

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
)

// Verbs are the commands of this package.
func Verbs(p *cli.Program) []*cobra.Command {
	return []*cobra.Command{
		newAccountCommand(p),
		newCalibrateCommand(p),
		newLedgerCommand(p),
		newKeysCommand(p),
	}
}
