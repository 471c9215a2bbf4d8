package kernel

// levels are those that this machine can run, and tables their functions. Every arm64
// processor that Go runs on has NEON.
var (
	levels = []Level{Portable, NEON}
	tables = []*Kernels{portable(), neon()}
)
