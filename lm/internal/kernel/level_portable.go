//go:build !amd64

package kernel

var (
	levels = []Level{Portable}
	tables = []*Kernels{portable()}
)
