// Package model has the verbs about models: files, scores and measurements.
package model

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
)

// Verbs are the commands of this package.
func Verbs(p *cli.Program) []*cobra.Command {
	return []*cobra.Command{
		newModelCommand(p),
	}
}
