package machine

import "golang.org/x/sys/unix"

// ask queries the kernel, which has no single number for free memory.
func (f *Facts) ask() {
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		f.Memory = int64(min(n, 1<<60))
	}
	f.Processor, _ = unix.Sysctl("machdep.cpu.brand_string") // unknown where it fails
}
