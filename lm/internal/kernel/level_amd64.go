package kernel

import "golang.org/x/sys/cpu"

//go:generate go -C gen run . ..

// best asks what the CPU can do, and whether the operating system saves the registers.
func best() Level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasF16C:
		return Portable
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	}
	return AVX512
}

var tables = [...]*Kernels{Portable: portable(), AVX2: avx2(), AVX512: avx512()}

func table(l Level) *Kernels { return tables[l] }
