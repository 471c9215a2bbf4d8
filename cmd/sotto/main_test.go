package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/cmd/internal/cli/root"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
)

func TestMain(m *testing.M) {
	clitest.Main(m, newRootCommand, root.Run, map[string]func(){"faulty": faulty})
}

// faulty is a program with a fault, in its main goroutine or in another.
func faulty() {
	p := &cli.Program{Terminal: ui.Terminal{Stdout: os.Stdout, Stderr: os.Stderr, JSON: len(os.Args) > 2}}
	p.WatchFaults("sotto", os.Exit)
	defer fault.Watch()
	records := []string{"content"}
	broken := func() (int, error) { panic(fmt.Sprintf("record %q", records[0])) }
	if os.Args[1] == "elsewhere" {
		_, _ = fault.Await(context.Background(), broken)
	}
	_, _ = broken()
}

// TestScripts runs the program as its users do.
func TestScripts(t *testing.T) {
	testscript.Run(t, clitest.Scripts(t, "testdata"))
}
