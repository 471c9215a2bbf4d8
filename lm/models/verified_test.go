package models

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// TestSwappedFile: a file that is replaced by another of the same size and time is
// found out, whether it was verified before or not, and one that is as it was is not
// hashed again.
func TestSwappedFile(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	good, bad := content(31, 5000), content(32, 5000)
	f := File{Name: "tiny.gguf", Bytes: 5000, SHA256: hashOf(good)}
	path := filepath.Join(dir, f.Name)
	check := func() error {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return verified(path, info, "tiny", f)
	}
	then := time.Now().Add(-time.Hour)
	put := func(data []byte) {
		t.Helper()
		write(t, path, data)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	put(good)
	if err := check(); err != nil {
		t.Fatal(err)
	}
	if !exists(recordPath(path)) {
		t.Error("there is no record of what was verified")
	}
	if err := check(); err != nil {
		t.Error(err)
	}
	put(bad)
	if err := check(); !is[*HashError](err) || !strings.Contains(err.Error(), "fetch the model again") {
		t.Errorf("a swapped file: %v", err)
	}
	// By a rename, too.
	other := filepath.Join(dir, "other")
	write(t, other, bad)
	put(good)
	if err := check(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(other, then, then); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if err := check(); !is[*HashError](err) {
		t.Errorf("a renamed file: %v", err)
	}
	// A record that is about another file does not count.
	put(good)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	r := record{stampOf(path, info), f.SHA256}
	put(bad)
	if err := writeRecord(recordPath(path), r); err != nil {
		t.Fatal(err)
	}
	if err := check(); !is[*HashError](err) {
		t.Errorf("an old record: %v", err)
	}
}

// TestPipIsIsolated: nothing in the working directory, in PYTHONPATH or behind a relative
// entry of PATH runs in pip's place.
func TestPipIsIsolated(t *testing.T) {
	here, bin := t.TempDir(), t.TempDir()
	t.Chdir(here)
	trap := filepath.Join(here, "trapped")
	for _, name := range []string{"pip.py", "site.py", "os.py"} {
		write(t, name, []byte("open("+`"`+trap+`"`+", 'w').close()\n"))
	}
	for _, name := range []string{"python3", "python", "pip3", "pip", "uvx"} {
		if err := os.WriteFile(name, []byte("#!/bin/sh\n: > '"+trap+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PYTHONPATH", here)
	t.Setenv("PYTHONSTARTUP", filepath.Join(here, "pip.py"))
	python, _ := exec.LookPath("python3")
	t.Setenv("PATH", "."+string(os.PathListSeparator)+bin)
	if _, err := findPip(t.Context()); err == nil {
		t.Error("a program of the working directory was taken for pip")
	}
	// What is found runs elsewhere, isolated, and by its path.
	log := filepath.Join(bin, "log")
	script := "#!/bin/sh\necho \"$0 $* in $(pwd) with '$PYTHONPATH$PYTHONSTARTUP'\" >> '" + log + "'\n"
	if err := os.WriteFile(filepath.Join(bin, "python3"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+"/usr/bin:/bin")
	p, err := findPip(t.Context())
	if err != nil || p.command[0] != filepath.Join(bin, "python3") {
		t.Fatal(p, err)
	}
	_ = p.wheel(t.Context(), "a", "1", filepath.Join(bin, "staging"), filepath.Join(bin, "a.whl"), func(int64) {}) // it leaves no wheel
	data, err := os.ReadFile(log)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if err != nil || len(lines) != 2 {
		t.Fatalf("%s, %v", data, err)
	}
	for _, line := range lines {
		expect.True(t, "pip is started isolated", strings.HasPrefix(line, filepath.Join(bin, "python3")+" -I -m pip "), line)
		expect.True(t, "pip is started in another folder", !strings.Contains(line, " in "+here), line)
		expect.True(t, "pip's environment is empty", strings.HasSuffix(line, "with ''"), line)
	}
	if python != "" && filepath.IsAbs(python) {
		t.Setenv("PATH", filepath.Dir(python)+":/usr/bin:/bin")
		_, _ = findPip(t.Context()) // a Python without pip has none
	}
	if exists(trap) {
		t.Error("code of the working directory ran")
	}
}
