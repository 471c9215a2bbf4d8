//go:build unix

package mapfile

import (
	"os"

	"golang.org/x/sys/unix"
)

func load(file *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
}

func release(data []byte) error { return unix.Madvise(data, unix.MADV_DONTNEED) }

func unload(data []byte) error { return unix.Munmap(data) }
