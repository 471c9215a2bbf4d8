//go:build !linux

package llama

// yieldThread has no portable form.
func yieldThread() {}
