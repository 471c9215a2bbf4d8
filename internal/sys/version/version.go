// Package version names the version of the program, for certificates, run folders and
// reports.
package version

import (
	"cmp"
	"runtime/debug"
	"sync"
)

// release is set by the linker where a release is built; see the Makefile.
var release string

const module = "github.com/sotto-dp/sotto"

// String returns the version of this module in the program that runs: that of the build, or
// the one that the program's go.mod requires, or "development".
func String() string { return known() }

var known = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return of(release, nil)
	}
	return of(release, append(info.Deps, &info.Main))
})

func of(release string, modules []*debug.Module) string {
	const unknown, development = "(devel)", "development"
	for _, m := range modules {
		if m.Path != module {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != unknown {
			return cmp.Or(release, m.Version, development)
		}
	}
	return cmp.Or(release, development)
}
