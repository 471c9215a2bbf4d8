package llama

import "syscall"

// yieldThread lets other processes have the processor: the one that is waited for
// may be among the threads that do not run.
func yieldThread() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
