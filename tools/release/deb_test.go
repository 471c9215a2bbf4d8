package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestDeb has dpkg read the package, install it in a folder, and run its program.
func TestDeb(t *testing.T) {
	for _, tool := range []string{"dpkg-deb", "dpkg"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not here", tool)
		}
	}
	src, p := built(t)
	data, err := deb(src, p, pages)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sotto.deb")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	info := output(t, exec.Command("dpkg-deb", "--info", path))
	for _, want := range []string{"Package: sotto", "Version: 1.2.3", "Architecture: " + p.arch, "Description: differential privacy"} {
		if !bytes.Contains(info, []byte(want)) {
			t.Errorf("dpkg-deb --info has no %q:\n%s", want, info)
		}
	}
	contents := string(output(t, exec.Command("dpkg-deb", "--contents", path)))
	for _, want := range []string{
		"-rwxr-xr-x 0/0", "./usr/bin/sotto\n", "./usr/share/man/man1/sotto.1.gz\n", "./usr/share/bash-completion/completions/sotto\n", "./usr/share/doc/sotto/copyright\n",
	} {
		if !strings.Contains(contents, want) {
			t.Errorf("dpkg-deb --contents has no %q:\n%s", want, contents)
		}
	}
	if strings.Contains(contents, "ps1") {
		t.Error("PowerShell's completion is in the package")
	}
	root := t.TempDir()
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) []byte {
		t.Helper()
		return output(t, exec.Command("dpkg", append([]string{"--root=" + root, "--force-not-root", "--log=/dev/null"}, args...)...))
	}
	if os.Getuid() != 0 { // dpkg gives the files to root
		output(t, exec.Command("dpkg-deb", "-x", path, root))
	} else {
		dpkg("--force-script-chrootless", "--install", path)
		if wrong := dpkg("--verify", "sotto"); len(wrong) > 0 {
			t.Errorf("dpkg --verify: %s", wrong)
		}
		if status := dpkg("--status", "sotto"); !bytes.Contains(status, []byte("Status: install ok installed")) {
			t.Errorf("%s", status)
		}
	}
	if p.system == "linux" && p.arch == runtime.GOARCH {
		if got := output(t, exec.Command(filepath.Join(root, "usr/bin/sotto"), "version")); !bytes.HasPrefix(got, []byte("sotto v1.2.3 (")) {
			t.Errorf("%s", got)
		}
	}
}

func TestDebVersion(t *testing.T) {
	date := time.Date(2026, 11, 17, 18, 0, 0, 0, time.UTC)
	// In Debian's order.
	cases := []struct{ version, want string }{
		{"bde37a8e", "0~20261117180000.bde37a8e"},
		{"bde37a8e-dirty", "0~20261117180000.bde37a8e.dirty"},
		{"v1.2.3-rc.1", "1.2.3~rc.1"},
		{"v1.2.3-rc.1-4-gbde37a8e", "1.2.3~rc.1+4.gbde37a8e"},
		{"v1.2.3", "1.2.3"},
		{"v1.2.3-5-gbde37a8e", "1.2.3+5.gbde37a8e"},
		{"v1.2.3-5-gbde37a8e-dirty", "1.2.3+5.gbde37a8e+dirty"},
	}
	for i, c := range cases {
		got := debVersion(&source{version: c.version, date: date})
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.version, got, c.want)
		}
		if _, err := exec.LookPath("dpkg"); err == nil && i > 0 {
			if out, err := exec.Command("dpkg", "--compare-versions", cases[i-1].want, "lt", got).CombinedOutput(); err != nil {
				t.Errorf("for dpkg %s does not come before %s: %v %s", cases[i-1].want, got, err, out)
			}
		}
	}
}
