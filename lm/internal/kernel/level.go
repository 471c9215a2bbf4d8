package kernel

import "fmt"

// Level is a set of instructions that the kernels are written in. Every level
// gives the same bits.
type Level int

// The levels, each one faster than the one before.
const (
	// Portable is plain Go and runs everywhere.
	Portable Level = iota
	// AVX2 needs AVX2, FMA and F16C.
	AVX2
	// AVX512 needs AVX-512 F, BW, DQ and VL besides.
	AVX512
)

// String returns the level's name in reports.
func (l Level) String() string {
	switch l {
	case Portable:
		return "portable"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return fmt.Sprintf("level %d", int(l))
}

// Levels lists the levels that this machine can run, Portable first.
func Levels() []Level {
	levels := []Level{Portable}
	for l := AVX2; l <= best(); l++ {
		levels = append(levels, l)
	}
	return levels
}

// Best returns the fastest level that this machine can run.
func Best() Level { return best() }

// For returns the kernels of a level, or of the best one below it that this machine can
// run.
func For(l Level) *Kernels {
	l = min(max(l, Portable), best())
	return table(l)
}
