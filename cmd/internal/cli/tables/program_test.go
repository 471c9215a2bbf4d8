package tables

import (
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/budget"
	"github.com/sotto-dp/sotto/cmd/internal/cli/check"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/cli/model"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/cmd/internal/cli/serve"
	"github.com/sotto-dp/sotto/cmd/internal/cli/start"
	"github.com/sotto-dp/sotto/cmd/internal/cli/texts"
)

func TestMain(m *testing.M) { clitest.Main(m, program, root.Run, nil) }

// program has all verbs: tests look at what they make with those of other packages.
func program(p *cli.Program) *cobra.Command {
	return root.New(p, slices.Concat(start.Verbs(p), texts.Verbs(p), Verbs(p), check.Verbs(p), budget.Verbs(p), serve.Verbs(p, serve.ForAgents{}), model.Verbs(p))...)
}

// TestScripts runs the program as its users do.
func TestScripts(t *testing.T) {
	testscript.Run(t, clitest.Scripts(t, "testdata"))
}
