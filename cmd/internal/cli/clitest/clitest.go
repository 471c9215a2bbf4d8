// Package clitest runs the program for tests of verbs: in their process or beside them, in a home of its own, on
// made-up records, and as a service.
package clitest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
)

// execute runs a verb. [Main] sets it.
var execute func(context.Context, *cli.Program, []string) int

// Main runs the tests of a package for the program that has a command, which run runs. Tests also find it as the program
// sotto, and others beside it.
func Main(m *testing.M, command func(*cli.Program) *cobra.Command, run func(context.Context, *cli.Program, []string) int, programs map[string]func()) {
	TestRoot, execute = command, run
	all := map[string]func(){"sotto": func() {
		p := &cli.Program{Root: command}
		ui.Main("sotto", &p.Terminal, func(ctx context.Context) int { return run(ctx, p, os.Args[1:]) })
	}}
	maps.Copy(all, programs)
	testscript.Main(m, all)
}

// Built is the folder of the program as [testscript.Main] makes it of these tests.
func Built(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sotto")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(path)
}

// OnJSON is told of the values that programs of [newProgram] print as JSON.
var OnJSON func(any)

// Verbs are all commands that do something, by their path.
func Verbs(cmd *cobra.Command) map[string]*cobra.Command {
	found := map[string]*cobra.Command{}
	for _, c := range cmd.Commands() {
		if c.HasSubCommands() {
			for path, v := range Verbs(c) {
				found[path] = v
			}
		}
		if (!c.HasSubCommands() || c.Annotations[cli.RunsItself] != "") && c.Name() != "help" {
			found[c.CommandPath()] = c
		}
	}
	return found
}

// TestRoot makes the command of the program that is tested. TestMain sets it.
var TestRoot func(*cli.Program) *cobra.Command

// NewProgram is one that reads nothing and writes to buffers.
func NewProgram(stdout, stderr io.Writer) *cli.Program {
	return &cli.Program{Root: TestRoot, Terminal: ui.Terminal{Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr, Encoding: OnJSON}}
}

// Run runs the program in this process, in a user's home of its own.
func Run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	p := NewProgram(&out, &errs)
	code = execute(t.Context(), p, args)
	return code, out.String(), errs.String()
}
