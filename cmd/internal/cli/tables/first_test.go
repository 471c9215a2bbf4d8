package tables

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestFirstTable: a first table with a currency, missing numbers and codes for them: what is asked for at init is kept,
// and each refusal names the rule of the schema that helps.
func TestFirstTable(t *testing.T) {
	clitest.Home(t)
	rows := "age,income,calls,churned\n"
	for range 40 {
		rows += "NA,\"$58,370\",-9,yes\n41,\"$9,120\",2,no\n"
	}
	clitest.Write(t, "mine.csv", []byte(rows))
	clitest.Printed(t, "init", "--data", "mine.csv", "--kind", "table", "--label", "churned", "--size", "80", "--out", "begun")
	begun, err := os.ReadFile("begun/schema.toml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(begun), "label = \"churned\"") {
		t.Errorf("init drops the label:\n%s", begun)
	}
	schema := `label = "churned"
[[column]]
name = "age"
kind = "numeric"
low = 18
high = 80
missing = 40
[[column]]
name = "income"
kind = "numeric"
low = 0
high = 100000
[[column]]
name = "calls"
kind = "numeric"
low = 0
high = 10
missing = 0
[[column]]
name = "churned"
kind = "categorical"
values = ["yes", "no"]
`
	profile := []string{"table", "profile", "--schema", "s.toml", "--data", "mine.csv", "--size", "80", "--epsilon", "1", "--out", "profile"}
	clitest.Write(t, "s.toml", []byte(schema))
	code, _, errs := clitest.Run(t, profile...)
	if code != 2 || !strings.Contains(errs, `format = "1,234.56" for numbers such as 58,370 or $58,370`) {
		t.Errorf("numbers with a currency: %d %s", code, errs)
	}
	if !strings.Contains(errs, "(--set on-error=skip)") || strings.Contains(errs, "(--size)") {
		t.Errorf("the wrong flag is named: %s", errs)
	}
	schema = strings.Replace(schema, "high = 100000", "high = 100000\nformat = \"1,234.56\"", 1)
	clitest.Write(t, "s.toml", []byte(schema))
	code, _, errs = clitest.Run(t, profile...)
	at := expect.At(t, "a code of missing values that is not listed")
	expect.Equal(at, "exit code with "+errs, code, 2)
	expect.Contains(at, "errs", errs, `column "calls"`)
	expect.True(at, "no age in errs", !strings.Contains(errs, "age"), errs)
	clitest.Write(t, "s.toml", []byte(strings.Replace(schema, "high = 10\n", "high = 10\naliases = { \"-9\" = \"\" }\n", 1)))
	clitest.Printed(t, profile...)
}

// TestPerturbWarns: at a large ε rows are hardly protected, which is said before, and in the result.
func TestPerturbWarns(t *testing.T) {
	for epsilon, warned := range map[string]bool{"2": false, "8": true} {
		t.Run(epsilon, func(t *testing.T) {
			clitest.Home(t)
			clitest.Write(t, "pets.toml", []byte(`label = "ill"
[[column]]
name = "pet"
kind = "categorical"
values = ["cat", "dog"]
[[column]]
name = "ill"
kind = "categorical"
values = ["y", "n"]
`))
			clitest.Write(t, "pets.csv", []byte("pet,ill\ncat,y\ndog,n\n"))
			code, out, errs := clitest.Run(t, "table", "perturb", "--schema", "pets.toml", "--data", "pets.csv", "--epsilon", epsilon, "--out", "out", "--json")
			if code != 0 {
				t.Fatal(errs)
			}
			if got := strings.Contains(errs, "a row is hardly protected"); got != warned {
				t.Errorf("warned %v, want %v: %s", got, warned, errs)
			}
			list, _ := clitest.Object(t, out)["warnings"].([]any)
			if got := strings.Contains(fmt.Sprint(list), "a row is hardly protected"); got != warned {
				t.Errorf("the result warns %v, want %v: %v", got, warned, list)
			}
			if !strings.Contains(fmt.Sprint(list), "did not know this data set") {
				t.Errorf("warnings of the run are lost: %v", list)
			}
		})
	}
}
