//go:build !windows

package durable

import "os"

// rename replaces a file. The new name lasts after SyncDir.
func rename(from, to string) error { return os.Rename(from, to) }
