package jobs

import (
	"os/exec"
	"syscall"
)

// dieTogether has the process killed when its worker is gone, and leaves signals of a terminal to
// the worker.
func dieTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
