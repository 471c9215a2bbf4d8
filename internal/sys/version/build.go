package version

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
)

// commit and date are set by the linker, as release is.
var commit, date string

// Build is how the program that runs was built.
type Build struct {
	Version string `json:"version"`
	// Commit is the commit of the source, and Date its date (RFC 3339); "" if the build did not
	// record them.
	Commit string `json:"commit,omitempty"`
	Date   string `json:"date,omitempty"`
	// Modified reports that the source had changes beside the commit, as far as the build recorded it.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	System   string `json:"system"`
	// Level is the least processor that the program is for: v1 to v4 for amd64, v8.0 and later for arm64.
	Level string `json:"level,omitempty"`
	// Static reports that no C was linked, and Trimmed that no path of the building machine is in it.
	Static  bool `json:"static"`
	Trimmed bool `json:"trimmed"`
	// Modules is the number of modules that were linked, and Sums the SHA-256 of a line
	// "path version h1-sum" for each, sorted: two programs with the same Sums hold the same libraries.
	Modules int    `json:"modules"`
	Sums    string `json:"sums,omitempty"`
}

// Read returns how the program that runs was built.
func Read() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return read(info)
}

func read(info *debug.BuildInfo) Build {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b := Build{
		Version:  String(),
		Commit:   cmp.Or(commit, settings["vcs.revision"]),
		Date:     cmp.Or(date, settings["vcs.time"]),
		Modified: settings["vcs.modified"] == "true",
		Go:       runtime.Version(),
		System:   runtime.GOOS + "/" + runtime.GOARCH,
		Level:    cmp.Or(settings["GOAMD64"], settings["GOARM64"]),
		Static:   settings["CGO_ENABLED"] == "0",
		Trimmed:  settings["-trimpath"] == "true",
		Modules:  len(info.Deps),
	}
	var lines []string
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		lines = append(lines, fmt.Sprintf("%s %s %s\n", m.Path, m.Version, m.Sum))
	}
	if len(lines) > 0 {
		slices.Sort(lines)
		h := sha256.New()
		for _, line := range lines {
			h.Write([]byte(line))
		}
		b.Sums = hex.EncodeToString(h.Sum(nil))
	}
	return b
}
