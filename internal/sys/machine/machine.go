// Package machine detects what a language model needs of a machine: memory, and a processor
// with the instructions that the engine's kernels use.
package machine

import (
	"cmp"
	"net/netip"
	"runtime"

	"golang.org/x/sys/cpu"
)

// Facts about a machine. Unknown ones are zero.
type Facts struct {
	// System and its architecture, as Go names them.
	System       string `json:"system"`
	Architecture string `json:"architecture"`
	// Processor is the maker's name of it.
	Processor string `json:"processor,omitempty"`
	// Cores that this process may use.
	Cores int `json:"cores"`
	// Instructions among those that the engine uses: avx2, fma, f16c, avx512.
	Instructions []string `json:"instructions"`
	// Memory in bytes that this process may use, and how much of it is free now.
	Memory    int64 `json:"memory,omitempty"`
	Available int64 `json:"available,omitempty"`
	// Load is the load average over the last minute.
	Load float64 `json:"load,omitempty"`
	// Limited: Memory is the limit of a container, less than the machine has.
	Limited bool `json:"limited,omitempty"`
}

// Inspect returns the facts about this machine.
func Inspect() Facts {
	f := Facts{System: runtime.GOOS, Architecture: runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), Instructions: []string{}}
	for _, i := range []struct {
		there bool
		name  string
	}{
		{cpu.X86.HasAVX2, "avx2"},
		{cpu.X86.HasFMA, "fma"},
		{cpu.X86.HasF16C, "f16c"},
		{cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL, "avx512"},
	} {
		if i.there {
			f.Instructions = append(f.Instructions, i.name)
		}
	}
	f.ask()
	return f
}

// Free returns the memory in bytes that this process may use and that is free now, or all
// of it if that is not known, or 0.
func Free() int64 {
	f := Inspect()
	return cmp.Or(f.Available, f.Memory)
}

// Loopback reports whether a host is this machine, reached by no other.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
