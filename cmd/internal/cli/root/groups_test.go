package root

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
)

// TestHelpGroups: every verb with many flags has groups for all of them, a few essentials first and the settings of
// methods last; help of flags fits a terminal, and every verb of the program has a group.
func TestHelpGroups(t *testing.T) {
	root := clitest.TestRoot(&cli.Program{})
	for path, cmd := range clitest.Verbs(root) {
		var flags []string
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				flags = append(flags, f.Name)
			}
		})
		groups := flagGroupsOf(cmd)
		if (len(flags) > manyFlags) != (groups != nil) {
			t.Errorf("%s has %d flags in %d groups: list its essentials", path, len(flags), len(groups))
		}
		var grouped []string
		for i, g := range groups {
			grouped = append(grouped, g.flags...)
			switch {
			case g.title == otherFlags:
				t.Errorf("%s: the flags %v are in no group", path, g.flags)
			case (g.title == essentialFlags) != (i == 0):
				t.Errorf("%s: %q is group %d of %d", path, g.title, i+1, len(groups))
			case i == 0 && (len(g.flags) > 8 || len(g.flags) != len(strings.Fields(essentials[path]))):
				t.Errorf("%s: essentials are %v", path, g.flags)
			}
		}
		slices.Sort(grouped)
		if groups != nil && !slices.Equal(grouped, flags) {
			t.Errorf("%s: groups have %v, the verb has %v", path, grouped, flags)
		}
		for line := range strings.Lines(flagHelp(cmd)) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > ui.Width {
				t.Errorf("%s: %d columns: %s", path, n, line)
			}
		}
	}
	for path := range essentials {
		if clitest.Verbs(root)[path] == nil {
			t.Errorf("there is no %s", path)
		}
	}
	for _, c := range root.Commands() {
		if n := len([]rune(c.Short)) + 14; c.IsAvailableCommand() && (n > ui.Width || c.GroupID == "") {
			t.Errorf("%s: %d columns, in the group %q", c.Name(), n, c.GroupID)
		}
	}
}

// TestShortHelp: -h shows the essentials, and --help everything.
func TestShortHelp(t *testing.T) {
	for _, c := range []struct {
		args       []string
		has, lacks string
	}{
		{[]string{"synth", "-h"}, `Run "sotto synth --help" for what the verb does`, "--instruction"},
		{[]string{"synth", "--help"}, "--instruction", `Run "sotto synth --help"`},
		{[]string{"synth", "--help"}, "--unit COLUMN protect all records with one value of COLUMN together; user:COLUMN is the same (default: record, each by itself)", "--frobnicate"},
		{[]string{"verify", "-h"}, "--strict", "Exit codes"},
		{[]string{"-h"}, "Budgets and keys:", "Exit codes"},
	} {
		code, out, errs := clitest.Run(t, c.args...)
		out = strings.Join(strings.Fields(out), " ")
		at := expect.At(t, "%v", c.args)
		expect.Equal(at, "exit code with "+errs, code, 0)
		expect.Contains(at, "out", out, c.has)
		expect.True(at, "no c.lacks in out", !strings.Contains(out, c.lacks), out)
	}
}

// TestHelpFlag: help says how -h and --help differ, which they do.
func TestHelpFlag(t *testing.T) {
	_, short, _ := clitest.Run(t, "ledger", "check", "-h")
	_, long, _ := clitest.Run(t, "ledger", "check", "--help")
	expect.Contains(t, "long", long, "-h, --help")
	expect.Contains(t, "long", long, "-h a short form")
	expect.True(t, "number of short below number of long", len(short) < len(long), len(short), len(long))
}
