package root

import (
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/ui"
)

// TestConfigurationIsBounded: a file that would take all memory to decode is refused
// before that.
func TestConfigurationIsBounded(t *testing.T) {
	clitest.Home(t)
	for text, want := range map[string]string{
		strings.Repeat("a.", 20_000) + "a = 1":                                             "nested more than",
		strings.Repeat("a = {", 10_000) + strings.Repeat("}", 10_000):                      "nested more than",
		"[" + strings.Repeat("a.", 20_000) + "a]\n":                                        "nested more than",
		"# " + strings.Repeat("long ", 20_000):                                             "larger than",
		"ledger = \"" + strings.Repeat("a", 1<<16) + "\"":                                  "larger than",
		"ledger = \"a.db\"\nkeys = " + strings.Repeat("[", 100) + strings.Repeat("]", 100): "line 2, file: it is nested",
	} {
		t.Run(text, func(t *testing.T) {
			if err := os.WriteFile("a.toml", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, _, errs := clitest.Run(t, "ledger", "show", "--config", "a.toml"); code != ui.Wrong || !strings.Contains(errs, want) {
				t.Errorf("%.30q: exit code %d: %s", text, code, errs)
			}
		})
	}
}

func TestDataDirWithoutHome(t *testing.T) {
	for _, v := range []string{"HOME", "XDG_DATA_HOME", "SOTTO_LEDGER", "SOTTO_CONFIG"} {
		t.Setenv(v, "")
		os.Unsetenv(v)
	}
	t.Chdir(t.TempDir())
	p := &cli.Program{}
	if at, err := p.LedgerAddress(); ui.ExitCode(err) != ui.Wrong || !strings.Contains(err.Error(), "SOTTO_LEDGER") {
		t.Errorf("%q, %v", at, err)
	}
	p.Places.Ledger = "a.db"
	if at, err := p.LedgerAddress(); err != nil || at != "a.db" {
		t.Errorf("%q, %v", at, err)
	}
}
