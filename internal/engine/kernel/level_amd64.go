package kernel

import "golang.org/x/sys/cpu"

//go:generate env GOWORK=off go -C gen run . ..

// levels are those that this machine can run, and tables their functions.
var levels, tables = detect()

// detect asks what the CPU can do, and whether the operating system saves the registers.
func detect() ([]Level, []*Kernels) {
	x := &cpu.X86
	levels, tables := []Level{Portable}, []*Kernels{portable()}
	add := func(can bool, l Level, table func() *Kernels) bool {
		if can {
			levels, tables = append(levels, l), append(tables, table())
		}
		return can
	}
	if !add(x.HasAVX2 && x.HasFMA && x.HasF16C, AVX2, avx2) {
		return levels, tables
	}
	add(x.HasAVXVNNI, AVXVNNI, avxvnni)
	add(x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512VNNI, AVX512, avx512)
	return levels, tables
}
