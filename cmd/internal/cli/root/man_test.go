package root

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/sys/version"
)

// TestManPages: every verb has a page with its flags, and mandoc, where it is installed, has no
// warning about any.
func TestManPages(t *testing.T) {
	root, dir := clitest.TestRoot(&cli.Program{}), t.TempDir()
	built := &versionResult{version.Build{Version: "v1.2.3", Date: "2026-01-02T03:04:05Z"}}
	all := clitest.Verbs(root)
	all["sotto"] = root
	for _, c := range root.Commands() {
		all[c.CommandPath()] = c
	}
	request := regexp.MustCompile(`(?m)^[.'][^\n]*`)
	known := regexp.MustCompile(`^\.(TH|SH|PP|TP|RS 4|RE|nf|fi|br|B)( .*)?$`)
	var files []string
	for path, cmd := range all {
		page := manPage(cmd, built)
		for _, r := range request.FindAllString(page, -1) {
			if !known.MatchString(r) {
				t.Errorf("%s: text became the request %q", path, r)
			}
		}
		for _, f := range strings.Fields(cmd.LocalFlags().FlagUsages()) {
			if name, ok := strings.CutPrefix(f, "--"); ok && cmd.LocalFlags().Lookup(name) != nil && !strings.Contains(page, `\fB\-\-`+strings.ReplaceAll(name, "-", `\-`)) {
				t.Errorf("the page of %s does not have --%s", path, name)
			}
		}
		if strings.ContainsFunc(page, func(r rune) bool { return r > 0x7f }) {
			t.Errorf("the page of %s is not ASCII", path)
		}
		file := filepath.Join(dir, manName(cmd)+".1")
		files = append(files, file)
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Log("mandoc is not here: it would check the pages")
		return
	}
	if out, err := exec.Command(mandoc, append([]string{"-Tlint", "-Wwarning"}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".TH": `\&.TH`, "'x'": `\(aqx\(aq`, `a\b`: `a\eb`, "--as-many": `\-\-as\-many`, "ε ≤ 1": `\[u03B5] \[u2264] 1`, "𝛿": `\[u1D6FF]`,
	} {
		t.Run(text, func(t *testing.T) {
			if got := roff(text); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}
