package texts

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

// withPlan parses a verb's command line, and reads its plan file.
func withPlan(t *testing.T, args ...string) (*synthOptions, error) {
	t.Helper()
	var opt synthOptions
	cmd := &cobra.Command{Use: "synth"}
	opt.add(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		return nil, err
	}
	return &opt, settings.Of(cmd).Read(cmd)
}

// TestPlanFile: a plan file has the settings that --set has, and --set goes over it, wherever it stands.
func TestPlanFile(t *testing.T) {
	clitest.Home(t)
	clitest.Write(t, "plan.toml", []byte("method = \"clipped\"\nrounds = 3\nbatch = 16\ntemperature = 0.7\nshared-ending = \"auto\"\nmeasurement-share = 0\n"))
	for name, args := range map[string][]string{"before": {"--set", "batch=8", "--plan", "plan.toml"}, "after": {"--plan", "plan.toml", "--set=batch=8"}} {
		t.Run(name, func(t *testing.T) {
			o, err := withPlan(t, args...)
			if err != nil {
				t.Fatal(err)
			}
			got := ui.SettingValues(o.Values)
			if got["batch"] != 8 || got["temperature"] != 0.7 {
				t.Errorf("settings of the method are %v", got)
			}
			expect.Equal(t, "o.rounds", o.rounds, 3)
			expect.Equal(t, "o.ending", o.ending, "auto")
			expect.Equal(t, "o.measuring.Share()", o.measuring.Share(), -1)
			if o.method != "clipped" {
				t.Errorf("the method is %q", o.method)
			}
		})
	}
	if o, err := withPlan(t, "--method", "public", "--plan", "plan.toml"); err != nil || o.method != "public" {
		t.Errorf("--method does not go over the file: %v", err)
	}
}

// TestWrongPlanFiles: each line that is wrong is named, with what may have been meant.
func TestWrongPlanFiles(t *testing.T) {
	clitest.Home(t)
	for text, want := range map[string]string{
		"\nround = 3":             "line 2, round",
		"rouns = 3":               "did you mean rounds",
		"rounds = \"3\"":          "line 1, rounds: it is a string in quotes",
		"rounds = [":              "line 1",
		"utility = \"best\"":      "should be one of hard, soft",
		"method = \"none\"":       "there is no method",
		"epsilon = 1":             "line 1, epsilon",
		"seed = 1":                "line 1, seed",
		"non-private = true":      "line 1, non-private",
		"ledger = \"other.db\"":   "line 1, ledger",
		"[choose]\nrounds = 3":    "line 1, choose",
		"rounds = 3\nrounds = 4":  "line 2",
		"shared-ending = 0.5":     "it is a fraction",
		"generation-share = true": "it is true or false",
	} {
		t.Run(text, func(t *testing.T) {
			clitest.Write(t, "plan.toml", []byte(text))
			if _, err := withPlan(t, "--plan", "plan.toml"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := withPlan(t, "--plan", "nothere.toml"); err == nil {
		t.Error("a file that is not there is read")
	}
}

// TestWrittenPlanFile: what is written is read again, as it was, and with all lines that are comments too.
func TestWrittenPlanFile(t *testing.T) {
	clitest.Home(t)
	for _, name := range []string{cli.MethodChoose, "clipped", "mixing", "gaussian"} {
		cmd := newPlanCommand(&cli.Program{})
		if err := cmd.ParseFlags([]string{"--set", "tokens=7", "--set", "dialect=vllm"}); err != nil {
			t.Fatal(err)
		}
		text := settings.Of(cmd).Write("x", name, false, map[string]any{"rounds": 5.0})
		if strings.Contains(text, "rounds = 5") != (name == cli.MethodChoose) {
			t.Errorf("%s: the plan's rounds are not there, or of another method:\n%s", name, text)
		}
		for _, s := range []string{text, strings.NewReplacer("\n# rounds = ", "\nrounds = ", "\n# temperature = X", "\ntemperature = 0.5").Replace(text)} {
			clitest.Write(t, "plan.toml", []byte(s))
			o, err := withPlan(t, "--plan", "plan.toml")
			if err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, s)
			}
			at := expect.At(t, "%s: read", name)
			expect.Equal(at, "o.method", o.method, name)
			expect.Equal(at, "o.tokens", o.tokens, 7)
			expect.Equal(at, "o.Dialect", o.Dialect, "vllm")
		}
	}
}
