package version

import (
	"runtime/debug"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

func TestRead(t *testing.T) {
	info := &debug.BuildInfo{
		Settings: []debug.BuildSetting{
			{Key: "-trimpath", Value: "true"},
			{Key: "CGO_ENABLED", Value: "0"},
			{Key: "GOARM64", Value: "v8.0"},
			{Key: "vcs.revision", Value: "abc"},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
			{Key: "vcs.modified", Value: "true"},
		},
		Deps: []*debug.Module{{Path: "example.org/b", Version: "v1.0.0", Sum: "h1:b"}, {Path: "example.org/a", Version: "v2.0.0", Sum: "h1:a"}},
	}
	b := read(info)
	expect.Equal(t, "b.Commit", b.Commit, "abc")
	expect.Equal(t, "b.Date", b.Date, "2026-01-02T03:04:05Z")
	expect.Equal(t, "b.Modified", b.Modified, true)
	expect.Equal(t, "b.Static", b.Static, true)
	expect.Equal(t, "b.Trimmed", b.Trimmed, true)
	expect.Equal(t, "b.Level", b.Level, "v8.0")
	expect.Equal(t, "b.Modules", b.Modules, 2)
	// printf 'example.org/a v2.0.0 h1:a\nexample.org/b v1.0.0 h1:b\n' | sha256sum
	if want := "70f315d2eea099721f4d69b21e2856a80f90913baa4a472653ce2e1bf740ad03"; b.Sums != want {
		t.Errorf("sums %s, want %s", b.Sums, want)
	}
	info.Deps[0], info.Deps[1] = info.Deps[1], info.Deps[0]
	if again := read(info); again.Sums != b.Sums {
		t.Error("the order of the modules changes their sums")
	}
	info.Deps[0].Replace = &debug.Module{Path: "example.org/c", Version: "v3.0.0"}
	if again := read(info); again.Sums == b.Sums {
		t.Error("a replaced module does not change the sums")
	}
	b = read(&debug.BuildInfo{})
	expect.Equal(t, "b.Static", b.Static, false)
	expect.Equal(t, "b.Trimmed", b.Trimmed, false)
	expect.Equal(t, "b.Sums", b.Sums, "")
	expect.True(t, "b.Go != \"\"", b.Go != "")
	expect.True(t, "b.System != \"\"", b.System != "")
}

func TestReadPrefersTheLinker(t *testing.T) {
	commit, date = "123", "2025-01-01T00:00:00Z"
	defer func() { commit, date = "", "" }()
	b := read(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}})
	if b.Commit != "123" || b.Date != "2025-01-01T00:00:00Z" {
		t.Errorf("%+v", b)
	}
}
