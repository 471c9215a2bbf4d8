//go:build unix

package models

import (
	"os/exec"
	"syscall"
)

// asGroup lets a command be stopped together with what it starts, as pip is often
// a script that starts another. The result ends what is left.
func asGroup(c *exec.Cmd) (end func()) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGINT) }
	return func() {
		if c.Process != nil {
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // most often nothing is left
		}
	}
}
