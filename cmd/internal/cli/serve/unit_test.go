package serve

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/demo"
	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/schema"
)

// spellings of units, with what each means.
var spellings = map[string]privacy.Unit{
	"record": privacy.Record, "author": "user:author", "user:author": "user:author", "user:record": "user:record",
	"user:user:a": "user:user:a", "two words": "user:two words", "Record": "user:Record",
}

// TestUnitMeansTheSame: what --unit is given means the same unit for every verb that has the flag.
func TestUnitMeansTheSame(t *testing.T) {
	of, err := schema.Parse("loans", demo.LoansFile())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range spellings {
		root := clitest.TestRoot(&cli.Program{})
		var have []string
		for path, cmd := range clitest.Verbs(root) {
			f := cmd.Flags().Lookup("unit")
			if f == nil {
				continue
			}
			have = append(have, strings.TrimPrefix(path, "sotto "))
			if err := f.Value.Set(text); err != nil {
				t.Errorf("%s --unit %q: %v", path, text, err)
				continue
			}
			var got privacy.Unit
			switch v := f.Value.(type) {
			case *cli.UnitFlag:
				got = v.Unit
			case *ui.SettingFlag: // of tables, as the engines' programs have it too
				r, err := plan.ProfileRequest{Schema: of, Size: 100, Epsilon: 1}.With(method.Values{v.Name: v.Value})
				if err != nil {
					t.Errorf("%s --unit %q: %v", path, text, err)
				}
				got = r.Unit
			default:
				t.Errorf("%s reads --unit by itself, as a %T", path, v)
			}
			if got != want {
				t.Errorf("%s --unit %q protects %q, want %q", path, text, got, want)
			}
		}
		for _, verb := range []string{"init", "synth", "answer", "plan", "rehearse", "eval private", "ledger init", "ledger reserve", "table profile", "table plan", "serve route answer"} {
			if !slices.Contains(have, verb) {
				t.Errorf("%s has no --unit", verb)
			}
		}
		for _, shown := range []cli.UnitFlag{{Unit: want}} {
			if back, err := privacy.ParseUnit(shown.Words()); err != nil || back != want {
				t.Errorf("%q is shown as %q, which is %q: %v", want, shown.Words(), back, err)
			}
		}
	}
}

// TestBudgetOfAUnit: a budget whose unit is spelled in one way pays for runs whose unit is spelled in any
// way that means the same, and for no others.
func TestBudgetOfAUnit(t *testing.T) {
	command := clitest.Asking(t, "--input", "Ann: Six?")
	var rows strings.Builder
	for i := range 300 {
		fmt.Fprintf(&rows, "{\"chat\": \"Ann: %d? Ben: Fine.\", \"summary\": \"Ann and Ben, %d.\", \"author\": \"a%d\", \"record\": \"r%d\"}\n", i, i, i, i)
	}
	clitest.Write(t, "chats.jsonl", []byte(rows.String()))
	answer := func(unit, ledger string) (int, string) {
		code, out, errs := clitest.Run(t, append(slices.Clone(command), "--epsilon", "1", "--delta", "1e-6", "--unit", unit, "--ledger", ledger)...)
		return code, out + errs
	}
	for i, entered := range slices.Sorted(maps.Keys(spellings)) {
		if entered == "user:user:a" || entered == "two words" || entered == "Record" {
			continue // these have no column here
		}
		ledger := fmt.Sprintf("ledger%d.db", i)
		code, _, errs := clitest.Run(t, "ledger", "init", "chats", "--data", "chats.jsonl", "--task", "chat.toml", "--epsilon", "8", "--delta", "1e-5", "--unit", entered, "--ledger", ledger)
		if code != ui.Done {
			t.Fatalf("--unit %s: exit code %d: %s", entered, code, errs)
		}
		for _, asked := range []string{"record", "author", "user:author", "user:record"} {
			code, said := answer(asked, ledger)
			if same := spellings[asked] == spellings[entered]; same != (code == ui.Done) {
				t.Errorf("a budget of %s, and an answer of %s: exit code %d: %s", entered, asked, code, said)
			} else if !same && !strings.Contains(said, "unit") {
				t.Errorf("a budget of %s, and an answer of %s: %s", entered, asked, said)
			}
			code, _, errs := clitest.Run(t, "ledger", "reserve", "chats", "pure(1/1000)", "--run", "r", "--proof", "proven", "--unit", asked, "--ledger", ledger)
			if same := spellings[asked] == spellings[entered]; same != (code == ui.Done) {
				t.Errorf("a budget of %s, and a charge of %s: exit code %d: %s", entered, asked, code, errs)
			}
		}
	}
	if code, _, errs := clitest.Run(t, "ledger", "init", "chats", "--epsilon", "8", "--delta", "1e-5", "--unit", "user:", "--ledger", "none.db"); code != ui.Wrong || !strings.Contains(errs, "no column") {
		t.Errorf("a unit without a column: %d, %s", code, errs)
	}
	if _, err := os.Stat("none.db"); err == nil {
		t.Error("what was refused has made a ledger")
	}
}
