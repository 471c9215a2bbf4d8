package machine

import (
	"testing"
	"testing/fstest"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func TestRead(t *testing.T) {
	const info = "MemTotal:       24522380 kB\nMemFree:         1 kB\nMemAvailable:   20000000 kB\n"
	files := func(more map[string]string) fstest.MapFS {
		all := fstest.MapFS{}
		for name, text := range more {
			all[name] = &fstest.MapFile{Data: []byte(text)}
		}
		return all
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  Facts
	}{
		{"nothing", nil, Facts{}},
		{"a machine", map[string]string{"proc/meminfo": info, "proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast One\nmodel name\t: Other\n"}, Facts{Processor: "Fast One", Memory: 24522380 << 10, Available: 20000000 << 10}},
		{"no limit", map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, Facts{Memory: 24522380 << 10, Available: 20000000 << 10}},
		{"a limit above", map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "4294967296\n"}, Facts{Memory: 4 << 30, Available: 4 << 30, Limited: true}},
		{"the first version", map[string]string{"proc/meminfo": info, "sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n"}, Facts{Memory: 1 << 30, Available: 1 << 30, Limited: true}},
		{"a limit beyond", map[string]string{"proc/meminfo": info, "sys/fs/cgroup/memory.max": "99999999999999\n"}, Facts{Memory: 24522380 << 10, Available: 20000000 << 10}},
		{"damaged", map[string]string{"proc/meminfo": "MemTotal: x kB\nMemAvailable: -4 kB\n", "proc/self/cgroup": "0"}, Facts{}},
	} {
		var got Facts
		got.read(files(c.files))
		at := expect.At(t, "%s", c.name)
		expect.Equal(at, "got.Processor", got.Processor, c.want.Processor)
		expect.Equal(at, "got.Memory", got.Memory, c.want.Memory)
		expect.Equal(at, "got.Available", got.Available, c.want.Available)
		expect.Equal(at, "got.Limited", got.Limited, c.want.Limited)
	}
	var busy Facts
	if busy.read(files(map[string]string{"proc/loadavg": "12.41 10.68 7.81 3/400 123\n"})); busy.Load != 12.41 {
		t.Error(busy.Load)
	}
	f := Inspect()
	expect.Min(t, "f.Cores", f.Cores, 1)
	expect.True(t, "f.Memory > 0", f.Memory > 0, f.Memory)
	expect.Equal(t, "f.System", f.System, "linux")
	if f.Instructions == nil {
		t.Fatal("no f.Instructions")
	}
}
