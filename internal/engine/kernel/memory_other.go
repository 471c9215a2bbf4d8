//go:build !linux

package kernel

// adviseHuge is a hint that this system does not take.
func adviseHuge([]byte) {}
