package kernel

import (
	"fmt"
	"slices"
)

// Level is a set of instructions that the kernels are written in. Every level
// gives the same bits.
type Level int

// The levels, each one faster than those before it of the same architecture.
const (
	// Portable is plain Go and runs everywhere.
	Portable Level = iota
	// AVX2 needs AVX2, FMA and F16C.
	AVX2
	// AVXVNNI needs AVX-VNNI besides.
	AVXVNNI
	// AVX512 needs AVX2's and AVX-512 F, BW, DQ, VL and VNNI.
	AVX512
	// NEON is what every arm64 processor has.
	NEON
	// NEONDot needs the dot products of bytes, SDOT.
	NEONDot
	// NEONI8MM needs the matrix products of bytes besides, SMMLA.
	NEONI8MM
)

var levelNames = [...]string{
	Portable: "portable", AVX2: "avx2", AVXVNNI: "avx-vnni", AVX512: "avx512-vnni",
	NEON: "neon", NEONDot: "neon-dot", NEONI8MM: "neon-i8mm",
}

// String returns the level's name in reports.
func (l Level) String() string {
	if l >= 0 && int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("level %d", int(l))
}

// Levels lists the levels that this machine can run, Portable first and the fastest
// last.
func Levels() []Level { return slices.Clone(levels) }

// Best returns the fastest level that this machine can run.
func Best() Level { return levels[len(levels)-1] }

// For returns the kernels of a level, or of the best one below it that this machine can
// run.
func For(l Level) *Kernels {
	at, found := slices.BinarySearch(levels, l)
	if !found {
		at--
	}
	return tables[max(at, 0)]
}
