package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// platform is a system and a processor, in Go's words.
type platform struct{ system, arch string }

func (p platform) String() string { return p.system + "/" + p.arch }

func (p platform) extension() string {
	if p.system == "windows" {
		return ".exe"
	}
	return ""
}

// program is what was built for a platform.
type program struct {
	platform
	data []byte
}

// source is what a release is made from.
type source struct {
	root, version, commit string
	date                  time.Time // in UTC; every file has it
	modified              bool
	// main is the package that is built, and flags are Go's. Tests build others.
	main  string
	flags []string
}

// buildFlags leave out everything of the machine that builds. Without DWARF the compiler does a
// fifth less; -s would drop it in the end anyway. The Makefile builds with the same.
var buildFlags = []string{"-mod=readonly", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false"}

// names is where the linker puts version, commit and date.
const names = "github.com/sotto-dp/sotto/internal/sys/version"

func readSource(root, version string) (*source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	s := &source{root: root, version: version, main: "./cmd/sotto", flags: buildFlags}
	if s.commit, err = git(root, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	changes, err := git(root, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	s.modified = changes != ""
	if s.version == "" {
		if s.version, err = git(root, "describe", "--tags", "--always", "--dirty"); err != nil {
			return nil, err
		}
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		if seconds, err = git(root, "log", "-1", "--format=%ct"); err != nil {
			return nil, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH is %q: it should be seconds since 1970", seconds)
	}
	s.date = time.Unix(n, 0).UTC()
	return s, nil
}

func git(dir string, args ...string) (string, error) {
	out, err := command(dir, "git", args...).Output()
	return strings.TrimSpace(string(out)), failed("git "+args[0], err)
}

func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return cmd
}

// failed says what a command said.
func failed(what string, err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return fmt.Errorf("%s: %w: %s", what, err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// buildAll builds a program for each platform.
func buildAll(src *source, wanted []platform) ([]program, error) {
	dir, err := os.MkdirTemp("", "sotto-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var out []program
	for _, p := range wanted {
		start := time.Now()
		data, err := src.build(p, filepath.Join(dir, "sotto"))
		if err != nil {
			return nil, err
		}
		fmt.Printf("%s: %d bytes in %s\n", p, len(data), time.Since(start).Round(time.Second))
		out = append(out, program{p, data})
	}
	return out, nil
}

// build compiles the program for one platform into a file and returns its bytes.
func (s *source) build(p platform, path string) ([]byte, error) {
	variables := fmt.Sprintf("-s -w -buildid= -X %s.release=%s -X %s.commit=%s -X %s.date=%s",
		names, s.version, names, s.commit, names, s.date.Format(time.RFC3339))
	args := append([]string{"build", "-o", path, "-ldflags", variables}, s.flags...)
	cmd := command(s.root, "go", append(args, s.main)...)
	// The compiler is faster where it collects garbage less often; the bytes are the same.
	cmd.Env = append(append(os.Environ(), "GOGC=400"), s.environ(p)...)
	if _, err := cmd.Output(); err != nil {
		return nil, failed("building for "+p.String(), err)
	}
	return os.ReadFile(path)
}

// environ is what decides about the bytes, whatever the caller's environment has.
func (s *source) environ(p platform) []string {
	return []string{
		"GOOS=" + p.system, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GODEBUG=",
	}
}

// documents are the files beside the program: licence, README, manual pages and completions. The
// program writes the last two, so one for this machine is needed.
func documents(src *source, programs []program) ([]file, error) {
	dir, err := os.MkdirTemp("", "sotto-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "sotto")
	if err := src.local(programs, path); err != nil {
		return nil, err
	}
	var out []file
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(src.root, name))
		if err != nil {
			return nil, err
		}
		out = append(out, file{name: name, mode: 0o644, data: data})
	}
	for _, c := range []struct{ shell, name string }{{"bash", "sotto.bash"}, {"zsh", "_sotto"}, {"fish", "sotto.fish"}, {"powershell", "sotto.ps1"}} {
		script, err := command(dir, path, "completion", c.shell).Output()
		if err != nil {
			return nil, failed("sotto completion "+c.shell, err)
		}
		out = append(out, file{name: "completions/" + c.name, mode: 0o644, data: script})
	}
	if _, err := command(dir, path, "man", "--out", "man1").Output(); err != nil {
		return nil, failed("sotto man", err)
	}
	pages, err := os.ReadDir(filepath.Join(dir, "man1"))
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		data, err := os.ReadFile(filepath.Join(dir, "man1", p.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, file{name: "man1/" + p.Name(), mode: 0o644, data: data})
	}
	return out, nil
}

// local writes a program that runs here.
func (s *source) local(programs []program, path string) error {
	here := platform{runtime.GOOS, runtime.GOARCH}
	for _, p := range programs {
		if p.platform == here {
			return os.WriteFile(path, p.data, 0o755)
		}
	}
	_, err := s.build(here, path)
	return err
}
