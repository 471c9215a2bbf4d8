package budget

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/check"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/cli/model"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/cmd/internal/cli/serve"
	"github.com/sotto-dp/sotto/cmd/internal/cli/start"
	"github.com/sotto-dp/sotto/cmd/internal/cli/tables"
	"github.com/sotto-dp/sotto/cmd/internal/cli/texts"
	"github.com/sotto-dp/sotto/internal/sys/pgtest"
)

func TestMain(m *testing.M) { clitest.Main(m, program, root.Run, nil) }

// program has all verbs: tests look at what they make with those of other packages.
func program(p *cli.Program) *cobra.Command {
	return root.New(p, slices.Concat(start.Verbs(p), texts.Verbs(p), tables.Verbs(p), check.Verbs(p), Verbs(p), serve.Verbs(p, serve.ForAgents{}), model.Verbs(p))...)
}

// TestScripts runs the program as its users do.
func TestScripts(t *testing.T) {
	testscript.Run(t, clitest.Scripts(t, "testdata"))
}

// TestConcurrentScripts is for the race detector: the whole program, in a verb that works
// on several goroutines.
func TestConcurrentScripts(t *testing.T) {
	p := clitest.Scripts(t, "")
	p.Files = []string{filepath.Join("testdata", "plot.txtar")}
	testscript.Run(t, p)
}

// TestPostgres runs the scripts that need a database server.
func TestPostgres(t *testing.T) {
	address := pgtest.Schema(t)
	p := clitest.Scripts(t, filepath.Join("testdata", "postgres"))
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("POSTGRES", address)
		return setup(e)
	}
	testscript.Run(t, p)
}
