package root

import (
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func TestNumberFlag(t *testing.T) {
	for s, want := range map[string]float64{"1e-6": 1e-6, "1/30000": 1.0 / 30000, " 3 / 4 ": 0.75, "0": 0} {
		t.Run(s, func(t *testing.T) {
			var n cli.Number
			err := n.Set(s)
			expect.NoError(t, err)
			expect.Equal(t, "n.Value", n.Value, want)
			expect.True(t, "n.Given", n.Given)
		})
	}
	for _, s := range []string{"", "x", "1/0", "1/", "/2", "1e-6e", "1/2/3", "1,5"} {
		var n cli.Number
		if err := n.Set(s); err == nil || n.Given {
			t.Errorf("%q is taken as %v", s, n.Value)
		}
	}
}

// TestMisspelt: a verb or a flag with a wrong letter is refused with what may have been meant, also before
// --help, and a file that is not there is refused also where it would not be read.
func TestMisspelt(t *testing.T) {
	clitest.Home(t)
	for want, args := range map[string][]string{
		"did you mean synth?":                            {"synht", "--help"},
		"did you mean show?":                             {"ledger", "shw", "-h"},
		"did you mean --epsilon?":                        {"synth", "--epsilom", "1"},
		"unknown flag: --zzzz":                           {"account", "--zzzz"},
		"if it is what --data names, write --data s.csv": {"table", "schema", "infer", "s.csv"},
		"there is no file nothere.csv":                   {"synth", "--method", "public", "--task", "agnews", "--data", "nothere.csv", "--size", "100", "--epsilon", "1", "--out", "o"},
	} {
		t.Run(want, func(t *testing.T) {
			code, stdout, stderr := clitest.Run(t, args...)
			at := expect.At(t, "%v", args)
			expect.Equal(at, "exit code with "+stderr, code, 2)
			expect.Equal(at, "stdout", stdout, "")
			expect.Contains(at, "stderr", stderr, want)
		})
	}
	for _, args := range [][]string{{"synth", "--help"}, {"table", "schema", "adult", "--help"}, {"--config", "x", "--help"}} {
		if code, stdout, stderr := clitest.Run(t, args...); code != 0 || !strings.Contains(stdout, "Usage:") {
			t.Errorf("%v: code %d, %s%s", args, code, stdout, stderr)
		}
	}
}
