// Package texts has the verbs that make examples and answers from private records: synth, learn, predict
// and answer, and plan and rehearse, which say beforehand what they come to.
package texts

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
)

// Verbs are the commands of this package.
func Verbs(p *cli.Program) []*cobra.Command {
	return []*cobra.Command{
		newSynthCommand(p),
		newLearnCommand(p),
		newPredictCommand(p),
		newAnswerCommand(p),
		newPlanCommand(p),
		newRehearseCommand(p),
	}
}
