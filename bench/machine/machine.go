// Package machine describes the machine of a benchmark and how idle it was: figures mean
// nothing without that.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// busy is the load average from which on a run is not trusted.
const busy = 0.7

// Name returns the processor, the system and how many processors there are.
func Name() string {
	return fmt.Sprintf("%s, %s/%s, %d processors", first("/proc/cpuinfo", "model name"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// Load returns the load average of the last minute, or "unknown". Call it before the run:
// afterwards it is the run's own.
func Load() string {
	load, _, _ := strings.Cut(first("/proc/loadavg", ""), " ")
	return load
}

// Idle reports whether a load average means a machine without other work. An unknown one
// does not.
func Idle(load string) bool {
	average, err := strconv.ParseFloat(load, 64)
	return err == nil && average <= busy
}

// first returns the first line of a file, or the value of the first line that begins with a
// key.
func first(path, key string) string {
	raw, _ := os.ReadFile(path)
	for line := range strings.Lines(string(raw)) {
		if key == "" {
			return strings.TrimSpace(line)
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
