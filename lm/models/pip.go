package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// pip runs whichever pip this machine has. What lies in the working directory must not
// run with it: Python looks there for modules, so that a file pip.py would be taken for
// pip. So it runs in isolation (-I), in an empty folder of its own, and by its absolute
// path.
type pip struct {
	command []string
}

// pips are the ways to run pip, the most usual first. uvx brings its own.
var pips = [][]string{
	{"python3", "-I", "-m", "pip"},
	{"python", "-I", "-m", "pip"},
	{"pip3"},
	{"pip"},
	{"uvx", "pip"},
}

var errNoPip = errors.New("there is no pip to fetch packages with: install Python 3 with pip, or uv")

// findPip returns the first that answers.
func findPip(ctx context.Context) (*pip, error) {
	empty, err := os.MkdirTemp("", "sotto-pip-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(empty)
	for _, command := range pips {
		// LookPath refuses what a relative entry of PATH, such as ".", finds.
		path, err := exec.LookPath(command[0])
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		p := &pip{append([]string{path}, command[1:]...)}
		if p.run(ctx, empty, "--version").Run() == nil {
			return p, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return nil, permanentError{errNoPip}
}

// run makes a command in a folder. Variables that tell Python where to find code are
// left out; those of pip itself stay, such as the user's index.
func (p *pip) run(ctx context.Context, dir string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, p.command[0], slices.Concat(p.command[1:], arguments)...)
	command.Dir = dir
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PYTHON") })
	return command
}

// wheel downloads the wheel of a package to a path in the folder staging, where it also
// works. While it runs, growing receives the number of bytes so far.
func (p *pip) wheel(ctx context.Context, name, version, staging, path string, growing func(int64)) error {
	if err := os.MkdirAll(staging, 0o755); err != nil {
		return err
	}
	// A new folder each time: a pip whose starter was killed may still be writing
	// to the last one.
	work, err := os.MkdirTemp(staging, "pip-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) // what stays goes with staging
	temporary, incoming := filepath.Join(work, "tmp"), filepath.Join(work, "incoming")
	for _, dir := range []string{temporary, incoming} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := p.download(ctx, name+"=="+version, temporary, incoming, growing); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(incoming, "*.whl"))
	if err != nil || len(found) != 1 {
		return permanentError{fmt.Errorf("pip left %d wheels for %s %s instead of one", len(found), name, version)}
	}
	// Not before it is complete does it get the name that is looked for.
	return os.Rename(found[0], path)
}

func (p *pip) download(ctx context.Context, requirement, temporary, incoming string, growing func(int64)) error {
	command := p.run(ctx, incoming,
		"download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input",
		"--disable-pip-version-check", "--progress-bar", "off", "--quiet", "--dest", incoming, requirement)
	// pip writes there while it downloads, so the growth can be seen, and what an
	// interrupted pip leaves is found.
	command.Env = append(command.Env, "TMPDIR="+temporary, "TEMP="+temporary, "TMP="+temporary, "PIP_REQUIRE_VIRTUALENV=0")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	end := asGroup(command)
	defer end()
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer fault.Watch()
		defer close(stopped)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				growing(max(bytesUnder(temporary), bytesUnder(incoming)))
			case <-done:
				return
			}
		}
	}()
	err := command.Run()
	close(done)
	<-stopped
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("pip could not download %s: %s", requirement, complaint(output.String(), err))
	}
	return nil
}

// bytesUnder sums the sizes of files; what vanishes meanwhile does not count.
func bytesUnder(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

func complaint(output string, err error) string {
	if strings.Contains(output, "No space left on device") {
		return "no space left on the disk"
	}
	var last string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "ERROR: "); ok {
			last = text
		}
	}
	if last == "" {
		return err.Error()
	}
	if runes := []rune(last); len(runes) > 300 {
		last = string(runes[:300]) + "…"
	}
	return last
}
