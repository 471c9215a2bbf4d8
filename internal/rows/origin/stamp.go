package origin

import (
	"fmt"
	"io/fs"
)

// Stamp identifies this state of a file without reading it: its size and the time
// of its last change, and where the system has them the number of the file and the time of
// the last change of anything about it, which no program can set.
func Stamp(info fs.FileInfo) string {
	return fmt.Sprintf("%d bytes, modified %d%s", info.Size(), info.ModTime().UnixNano(), systemStamp(info))
}
