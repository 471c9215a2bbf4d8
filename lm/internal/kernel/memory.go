package kernel

import "unsafe"

// line is the size of a cache line.
const line = 64

// aligned allocates bytes that begin at a cache line, so that no vector of the
// packed formats lies across two.
func aligned(n int) []byte {
	raw := make([]byte, n+line-1)
	adviseHuge(raw)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (line - 1)
	return raw[skip : skip+n : skip+n]
}
