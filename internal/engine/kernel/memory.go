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

// Floats allocates n zeros that begin at a cache line, on huge pages where the
// system has them: for what is read from one end to the other at every step.
func Floats(n int) []float32 {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(aligned(4*n)))), n)
}

// words is Floats for integers.
func words(n int) []uint32 {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(aligned(4*n)))), n)
}
