package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// inMemory makes a folder for temporary files in memory, or returns "" where that cannot
// be. On a disk, tests of what survives a crash wait for it most of their time.
func inMemory() string {
	const root, room = "/dev/shm", 4 << 30
	var s syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(root, &s) != nil || s.Bavail*uint64(s.Bsize) < room {
		return ""
	}
	dir, err := os.MkdirTemp(root, "sotto-test-")
	if err != nil {
		return ""
	}
	// Tests put programs there, which not every machine runs from there, and other users'
	// servers remove what they made, as in any folder for temporary files.
	program := filepath.Join(dir, "program")
	if os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700) != nil || exec.Command(program).Run() != nil || os.Chmod(dir, os.ModeSticky|0o777) != nil {
		os.RemoveAll(dir)
		return ""
	}
	return dir
}
