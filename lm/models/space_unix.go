//go:build linux || darwin

package models

import "syscall"

// freeSpace returns the number of bytes that may be written on the disk of a directory, -1
// if unknown.
func freeSpace(dir string) int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return -1
	}
	return int64(min(s.Bavail*uint64(s.Bsize), 1<<62))
}
