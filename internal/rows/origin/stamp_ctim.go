//go:build linux || dragonfly || openbsd || solaris

package origin

import (
	"fmt"
	"io/fs"
	"syscall"
)

func systemStamp(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf(", file %d, changed %d", s.Ino, s.Ctim.Nano())
}
