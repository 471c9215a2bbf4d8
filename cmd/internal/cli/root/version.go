package root

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/sys/version"
	"github.com/sotto-dp/sotto/internal/ui"
)

func newVersionCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "The version of this program, and how it was built",
		Long: `Prints the version, the commit it was built from, and how: with which Go, for
which processor, and a checksum over the libraries in it. "go version -m FILE"
lists them. A release is built so that anyone gets the same bytes again:
docs/release.md in the source shows how to check it.` + ui.JSONKeys(versionResult{}, `sums is the SHA-256 of a line "path version sum" for each of the modules, sorted.`),
		Example: "  sotto version --json",
		RunE:    func(*cobra.Command, []string) error { return p.Emit(thisVersion()) },
	}
}

type versionResult struct{ version.Build }

func thisVersion() *versionResult { return &versionResult{version.Read()} }

func (v *versionResult) Print(p *ui.Page) {
	p.Line("sotto %s (%s, %s)", v.Version, v.Go, v.System)
	if v.Commit != "" {
		source := "commit " + v.Commit
		if v.Date != "" {
			source += " of " + v.Date
		}
		if v.Modified {
			source += ", with changes that are not committed"
		}
		p.Line("%s", source)
	}
	how := []string{"with cgo"}
	if v.Static {
		how = []string{"without cgo"}
	}
	if v.Trimmed {
		how = append(how, "without paths of the building machine")
	}
	if v.Level != "" {
		how = append(how, "for processors from "+v.Level)
	}
	p.Line("built %s", strings.Join(how, ", "))
	if v.Sums != "" {
		p.Line("%s", fmt.Sprintf("%d modules, sums %s", v.Modules, v.Sums))
	}
}
