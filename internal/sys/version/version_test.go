package version

import (
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	ours := func(v string) *debug.Module { return &debug.Module{Path: module, Version: v} }
	for _, c := range []struct {
		release string
		modules []*debug.Module
		want    string
	}{
		{"", nil, "development"},
		{"", []*debug.Module{ours("(devel)")}, "development"},
		{"", []*debug.Module{{Path: "example.org/theirs", Version: "v9.0.0"}, ours("v1.2.3")}, "v1.2.3"},
		{"", []*debug.Module{{Path: module, Version: "v1.2.3", Replace: &debug.Module{Path: "../sotto"}}}, "development"},
		{"v2.0.0", []*debug.Module{ours("v2.0.0-0.20260101000000-abcdef")}, "v2.0.0"},
		{"v2.0.0", nil, "v2.0.0"},
	} {
		if got := of(c.release, c.modules); got != c.want {
			t.Errorf("%q of %v: %s, want %s", c.release, c.modules, got, c.want)
		}
	}
	if String() == "" {
		t.Error("the version is empty")
	}
}
