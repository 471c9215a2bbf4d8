package start

import (
	"path/filepath"
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
	"github.com/sotto-dp/sotto/cmd/internal/cli/tables"
	"github.com/sotto-dp/sotto/cmd/internal/cli/texts"
)

func TestMain(m *testing.M) { clitest.Main(m, program, root.Run, nil) }

// program has all verbs: tests look at what they make with those of other packages.
func program(p *cli.Program) *cobra.Command {
	return root.New(p, slices.Concat(Verbs(p), texts.Verbs(p), tables.Verbs(p), check.Verbs(p), budget.Verbs(p), serve.Verbs(p, serve.ForAgents{}), model.Verbs(p))...)
}

// TestScripts runs the program as its users do.
func TestScripts(t *testing.T) {
	testscript.Run(t, clitest.Scripts(t, "testdata"))
}

// TestModels runs the scripts that load models or write texts.
func TestModels(t *testing.T) {
	if testing.Short() {
		t.Skip("the model answers many times")
	}
	testscript.Run(t, clitest.Scripts(t, filepath.Join("testdata", "models")))
}
