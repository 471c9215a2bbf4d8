package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build; see the Makefile.
var version = "development"

func newVersionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "The version of this program",
		Example: "  sotto version --json",
		Args:    takes(),
		RunE:    func(*cobra.Command, []string) error { return p.emit(thisVersion()) },
	}
}

type versionResult struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func thisVersion() *versionResult {
	v := &versionResult{Version: version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	return v
}

func (v *versionResult) print(p *page) {
	p.line("sotto %s (%s, %s)", v.Version, v.Go, v.System)
}
