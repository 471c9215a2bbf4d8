// Package check has the verbs that measure and check: what examples are worth, certificates, and audits.
package check

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
)

// Verbs are the commands of this package.
func Verbs(p *cli.Program) []*cobra.Command {
	return []*cobra.Command{
		newEvalCommand(p),
		newVerifyCommand(p),
		newAuditCommand(p),
	}
}
