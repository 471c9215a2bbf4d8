package main

import (
	"os"
	"os/exec"
	"syscall"
)

// confine has a command see a folder as its whole disk, as the image's user; only root may.
func confine(cmd *exec.Cmd, root string) bool {
	if os.Getuid() != 0 {
		return false
	}
	// The folders of a test are for their owner; the image's user has to get in.
	if err := os.Chmod(root, 0o755); err != nil {
		return false
	}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: ociUser, Gid: ociUser}}
	return true
}
