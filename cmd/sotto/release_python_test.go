package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/demo"
)

// TestReleaseInPython: the code of a release's use.md works as it stands, with the libraries that it
// is for and this program's service as the model. SOTTO_TEST_CLIENTS and SOTTO_TEST_LLAMAINDEX name
// Pythons that have them; make test-clients sees to it.
func TestReleaseInPython(t *testing.T) {
	python, llamaIndex := os.Getenv("SOTTO_TEST_CLIENTS"), os.Getenv("SOTTO_TEST_LLAMAINDEX")
	if python == "" || llamaIndex == "" {
		t.Skip("make test-clients runs it")
	}
	var paths []string
	for _, path := range []string{"testdata/clients/release.py", "../../internal/release/testdata/baseline", "../../internal/release/testdata/generate"} {
		absolute, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, absolute)
	}
	clitest.Home(t)
	clitest.Write(t, "loans.toml", demo.LoansFile())
	var rows bytes.Buffer
	if err := demo.WriteLoans(&rows, demo.Loans(2000)); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "loans.csv", rows.Bytes())
	clitest.Printed(t, "ledger", "init")
	clitest.Printed(t, "table", "profile", "--schema", "loans.toml", "--data", "loans.csv", "--size", "2000", "--epsilon", "2", "--out", "demos")
	clitest.Printed(t, "verify", "demos")
	clitest.Printed(t, "serve", "route", "set", "my-model", "--upstream", "embedded")
	secret := clitest.Object(t, clitest.Printed(t, "serve", "key", "add", "clients", "--route", "*", "--json"))["secret"].(string)
	service := clitest.Serving(t)
	work, err := filepath.Abs("demos")
	if err != nil {
		t.Fatal(err)
	}
	script, data := paths[0], []string{"Hugging Face datasets", "Croissant"}
	for _, c := range []struct {
		python, dir string
		sections    []string
	}{
		{python, work, append([]string{"openai", "LangChain", "DSPy"}, data...)},
		{llamaIndex, work, []string{"LlamaIndex"}},
		{python, paths[1], data},
		{python, paths[2], data},
	} {
		cmd := exec.Command(c.python, append([]string{script, c.dir}, c.sections...)...)
		cmd.Env = append(os.Environ(), "SOTTO_URL="+service.Clients, "SOTTO_KEY="+secret, "DSPY_CACHEDIR="+t.TempDir(), "HF_HOME="+t.TempDir(), "HF_HUB_OFFLINE=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Error(err, service.Stderr.String())
		}
	}
}
