//go:build linux || darwin

package models

import "syscall"

// freeSpace returns how many bytes may be written on the disk of a directory, -1 if the
// system does not tell.
func freeSpace(dir string) int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return -1
	}
	return int64(min(s.Bavail*uint64(s.Bsize), 1<<62))
}
