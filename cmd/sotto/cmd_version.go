package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"

	"github.com/sotto-dp/sotto/internal/ui"
)

func newVersionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "The version of this program",
		Example: "  sotto version --json",
		RunE:    func(*cobra.Command, []string) error { return p.Emit(thisVersion()) },
	}
}

type versionResult struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func thisVersion() *versionResult {
	return &versionResult{sotto.Version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

func (v *versionResult) Print(p *ui.Page) {
	p.Line("sotto %s (%s, %s)", v.Version, v.Go, v.System)
}
