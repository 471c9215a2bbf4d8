package kernel

import "golang.org/x/sys/cpu"

// levels are those that this machine can run, and tables their functions.
var levels, tables = detect()

// detect asks what the CPU can do. Every arm64 processor that Go runs on has NEON.
func detect() ([]Level, []*Kernels) {
	levels, tables := []Level{Portable, NEON}, []*Kernels{portable(), neon()}
	if !cpu.ARM64.HasASIMDDP {
		return levels, tables
	}
	levels, tables = append(levels, NEONDot), append(tables, neondot())
	if cpu.ARM64.HasI8MM {
		levels, tables = append(levels, NEONI8MM), append(tables, neoni8mm())
	}
	return levels, tables
}
