package machine

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

func (f *Facts) ask() { f.read(os.DirFS("/")) }

// read reads the kernel's files.
func (f *Facts) read(root fs.FS) {
	f.Processor = field(root, "proc/cpuinfo", "model name")
	f.Memory = kilobytes(field(root, "proc/meminfo", "MemTotal"))
	f.Available = kilobytes(field(root, "proc/meminfo", "MemAvailable"))
	raw, _ := fs.ReadFile(root, "proc/loadavg")
	load, _, _ := strings.Cut(string(raw), " ")
	if n, err := strconv.ParseFloat(load, 64); err == nil && n >= 0 && n < 1e6 {
		f.Load = n
	}
	if limit := memoryLimit(root); limit > 0 && (f.Memory == 0 || limit < f.Memory) {
		f.Memory, f.Limited = limit, true
		f.Available = min(f.Available, limit)
	}
}

// field returns the value of the first line of a file that has this name before a colon.
func field(root fs.FS, file, name string) string {
	raw, _ := fs.ReadFile(root, file) // what is not there tells nothing
	for line := range strings.Lines(string(raw)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func kilobytes(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 64)
	if err != nil || n < 0 || n > 1<<50 {
		return 0
	}
	return n << 10
}

// memoryLimit returns the least limit of the control groups that this process is in, 0 if
// there is none.
func memoryLimit(root fs.FS) int64 {
	smallest := int64(0)
	take := func(file string) {
		raw, _ := fs.ReadFile(root, file)
		// "max", and in the first version a number beyond all memory, are no limit.
		if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && n > 0 && n < 1<<60 && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	take("sys/fs/cgroup/memory/memory.limit_in_bytes")
	for group := path.Clean("/" + field(root, "proc/self/cgroup", "0")); ; group = path.Dir(group) {
		// The line is 0::/GROUP: a colon is left.
		group = path.Clean("/" + strings.TrimPrefix(strings.TrimPrefix(group, "/"), ":"))
		take(path.Join("sys/fs/cgroup", group, "memory.max"))
		if group == "/" {
			return smallest
		}
	}
}
