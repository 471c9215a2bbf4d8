package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// inMemory makes a folder for temporary files in memory, or returns "" where that cannot
// be. On a disk, tests of what survives a crash wait for it most of their time.
//
// A lasting folder has the same name each time, because the go command runs a test again
// if TMPDIR has changed; it stays, without what tests left there over an hour ago.
func inMemory(lasting bool) (dir string, remove func()) {
	const root, room = "/dev/shm", 4 << 30
	var s syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(root, &s) != nil || s.Bavail*uint64(s.Bsize) < room {
		return "", nil
	}
	var err error
	remove = func() { os.RemoveAll(dir) }
	if lasting {
		dir, remove = filepath.Join(root, fmt.Sprintf("sotto-check-%d", os.Getuid())), func() {}
		if err = os.Mkdir(dir, 0o700); os.IsExist(err) {
			err = tidy(dir)
		}
	} else {
		dir, err = os.MkdirTemp(root, "sotto-test-")
	}
	if err != nil {
		return "", nil
	}
	// Tests put programs there, which not every machine runs from there, and other users'
	// servers remove what they made, as in any folder for temporary files.
	program := filepath.Join(dir, "program")
	if os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700) != nil || exec.Command(program).Run() != nil || os.Chmod(dir, os.ModeSticky|0o777) != nil {
		remove()
		return "", nil
	}
	return dir, remove
}

// tidy removes old files from a folder, which has to be the user's own: anyone may make
// one of that name.
func tidy(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(s.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not this user's folder", dir)
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return err
}
