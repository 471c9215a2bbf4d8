package models

import (
	"io/fs"
	"syscall"
)

// system adds what the system says about a file.
func (s *stamp) system(info fs.FileInfo) {
	if of, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode, s.Changed = uint64(of.Dev), of.Ino, of.Ctim.Nano() //nolint:unconvert // Dev differs between processors
	}
}
