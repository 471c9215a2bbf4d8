//go:build amd64 || arm64

package kernel

// Pause waits for some cycles and leaves the core to its other thread. Loops that look
// for another thread's result call it between two looks.
func Pause()

// Prefetch asks for memory that will be read soon, and does not wait for it.
//
//go:noescape
func Prefetch(x []float32)
