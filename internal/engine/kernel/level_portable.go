//go:build !amd64 && !arm64

package kernel

var (
	levels = []Level{Portable}
	tables = []*Kernels{portable()}
)
