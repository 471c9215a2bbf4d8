//go:build !amd64 && !arm64

package kernel

// Pause waits for some cycles where there is an instruction for it.
func Pause() {}

// Prefetch asks for memory that will be read soon where there is an instruction for it.
func Prefetch([]float32) {}
