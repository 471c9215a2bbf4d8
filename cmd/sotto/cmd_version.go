package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/ui"
)

// version is set by the build; see the Makefile.
var version = "development"

func newVersionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "The version of this program",
		Example: "  sotto version --json",
		Args:    takes(),
		RunE:    func(*cobra.Command, []string) error { return p.Emit(thisVersion()) },
	}
}

type versionResult struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func thisVersion() *versionResult {
	return &versionResult{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

func (v *versionResult) Print(p *ui.Page) {
	p.Line("sotto %s (%s, %s)", v.Version, v.Go, v.System)
}
