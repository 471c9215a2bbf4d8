//go:build unix && !linux

package jobs

import (
	"os/exec"
	"syscall"
)

// dieTogether leaves signals of a terminal to the worker. A process that outlives its worker
// keeps its lock.
func dieTogether(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
