package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const (
	python  = "../../python"
	licence = "../../LICENSE"
)

// build makes a wheel of the real package with a stand-in for the program.
func build(t *testing.T, platform, version string) (string, []byte) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "sotto")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho '{\"version\": \"stand-in\"}'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := run([]string{"-python", python, "-program", program, "-licence", licence, "-version", version, "-platform", platform, "-out", out}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(out, "*.whl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return files[0], data
}

// TestSameBytes: a wheel that is built twice is the same, and another version or program is not.
func TestSameBytes(t *testing.T) {
	_, a := build(t, "linux/amd64", "v1.2.3")
	_, b := build(t, "linux/amd64", "v1.2.3")
	_, c := build(t, "linux/amd64", "v1.2.4")
	if !bytes.Equal(a, b) {
		t.Error("the same input gave other bytes")
	}
	if bytes.Equal(a, c) {
		t.Error("another version gave the same bytes")
	}
}

// TestRecord: RECORD lists every file once, with the hash and the size that it has.
func TestRecord(t *testing.T) {
	_, data := build(t, "linux/arm64", "v1.2.3")
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		content[f.Name] = string(text)
		if wants := strings.HasSuffix(f.Name, "scripts/sotto"); (f.Mode().Perm() == 0o755) != wants {
			t.Errorf("%s has the mode %o", f.Name, f.Mode())
		}
	}
	const info = "sotto_dp-1.2.3.dist-info/"
	if last := z.File[len(z.File)-1].Name; last != info+"RECORD" {
		t.Errorf("the last file is %s", last)
	}
	lines, err := csv.NewReader(strings.NewReader(content[info+"RECORD"])).ReadAll()
	if err != nil || len(lines) != len(content) {
		t.Fatalf("%d lines for %d files: %v", len(lines), len(content), err)
	}
	for _, line := range lines {
		text, there := content[line[0]]
		sum := sha256.Sum256([]byte(text))
		want := "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:])
		if !there || (line[0] != info+"RECORD" && (line[1] != want || line[2] != fmt.Sprint(len(text)))) {
			t.Errorf("%v is not what the file has", line)
		}
	}
	for _, want := range []string{"sotto/py.typed", "sotto/dspy.py", "sotto_dp-1.2.3.data/scripts/sotto", info + "licenses/LICENSE"} {
		if content[want] == "" && want != "sotto/py.typed" {
			t.Errorf("%s is missing", want)
		}
	}
	for _, want := range []string{"Name: sotto-dp\n", "Version: 1.2.3\n", "Requires-Python: >=3.10\n", "Requires-Dist: dspy>=3; extra == \"dspy\"\n"} {
		if !strings.Contains(content[info+"METADATA"], want) {
			t.Errorf("METADATA lacks %q", want)
		}
	}
	if !strings.Contains(content[info+"WHEEL"], "Tag: py3-none-manylinux_2_17_aarch64\n") {
		t.Errorf("WHEEL is %s", content[info+"WHEEL"])
	}
}

func TestVersions(t *testing.T) {
	for given, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.0": "1.0", "v2.0.0rc1": "2.0.0rc1", "v1.2.3-4-gbde37a8": "1.2.3.post4+gbde37a8", "v1.2.3-dirty": "1.2.3+dirty",
		"v1.2.3-4-gbde37a8-dirty": "1.2.3.post4+gbde37a8.dirty", "bde37a8e": "0.0.0+gbde37a8e", "bde37a8e-dirty": "0.0.0+gbde37a8e.dirty",
		"development": "0.0.0+gdevelopment",
	} {
		if got := normalVersion(given); got != want {
			t.Errorf("%s is %s, want %s", given, got, want)
		}
	}
}

func TestWhatIsWrong(t *testing.T) {
	out := t.TempDir()
	for name, args := range map[string][]string{
		"no program":  {"-python", python, "-program", "absent", "-version", "1", "-out", out},
		"no platform": {"-python", python, "-program", "main.go", "-version", "1", "-platform", "plan9/mips", "-out", out},
		"no package":  {"-python", out, "-program", "main.go", "-version", "1", "-out", out},
		"no version":  {"-python", python, "-program", "main.go", "-out", out},
	} {
		if err := run(args); err == nil {
			t.Errorf("%s: a wheel came out", name)
		}
	}
}

// TestInstall: pip installs the wheel without a network, the command is there, and the package finds
// it and imports with nothing else installed.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a virtual environment")
	}
	interpreter, err := exec.LookPath("python3")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no python3")
	}
	if out, err := exec.Command(interpreter, "-I", "-m", "pip", "--python", interpreter, "--version").CombinedOutput(); err != nil {
		t.Skipf("python3 has no pip that installs elsewhere: %s", out)
	}
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command(interpreter, "-I", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Skipf("python3 makes no virtual environment: %s", out)
	}
	file, _ := build(t, runtime.GOOS+"/"+runtime.GOARCH, "v1.2.3")
	pip := []string{"-I", "-m", "pip", "--python", filepath.Join(venv, "bin", "python"), "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", file}
	if out, err := exec.Command(interpreter, pip...).CombinedOutput(); err != nil {
		t.Fatalf("pip: %v: %s", err, out)
	}
	if out, err := exec.Command(filepath.Join(venv, "bin", "sotto")).Output(); err != nil || !strings.Contains(string(out), "stand-in") {
		t.Errorf("the command: %v: %s", err, out)
	}
	const script = `import os, sotto, sys
assert os.path.dirname(sotto.program()) == os.path.realpath(os.path.dirname(sys.executable)), sotto.program()
assert sotto.version() == "stand-in"
assert not {"pandas", "datasets", "dspy"} & set(sys.modules)`
	cmd := exec.Command(filepath.Join(venv, "bin", "python"), "-I", "-c", script)
	cmd.Env = append(os.Environ(), "PATH=/nonexistent")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the package: %v: %s", err, out)
	}
}
