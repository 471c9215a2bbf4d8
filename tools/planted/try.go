package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// conclusion is what became of a bug.
type conclusion string

const (
	caught      conclusion = "is caught"
	survives    conclusion = "survives: its test passes"
	notCompiled conclusion = "does not compile"
	notRun      conclusion = "is not tested: its test did not run, or was skipped"
	panicked    conclusion = "ended its test by a panic, which does not count"
	timedOut    conclusion = "ran into the time limit, which does not count"
	otherwise   conclusion = "failed elsewhere than in its test"
)

// outcome is how a run of tests went.
type outcome struct {
	conclusion conclusion
	output     string // what the tests and the compiler printed
}

func (o outcome) word() string {
	if o.conclusion == caught {
		return "caught"
	}
	return "WRONG"
}

// try plants a bug and runs its test.
func try(root string, b bug) (outcome, error) {
	changed, err := b.apply(root)
	if err != nil {
		return outcome{}, err
	}
	dir, err := os.MkdirTemp("", "planted")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(dir)
	replace := map[string]string{}
	for file, text := range changed {
		original, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			return outcome{}, err
		}
		replace[original] = filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		if err := os.WriteFile(replace[original], []byte(text), 0o644); err != nil {
			return outcome{}, err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return outcome{}, err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, data, 0o644); err != nil {
		return outcome{}, err
	}
	events, err := goTest(root, b, pattern(b.test), "-overlay="+overlay)
	if err != nil {
		return outcome{}, err
	}
	return b.judge(events), nil
}

// judge says what the events of a test with the bug mean.
func (b bug) judge(events []event) outcome {
	var failed, passed, compile, panics, limit, other bool
	var output strings.Builder
	for _, e := range events {
		output.WriteString(e.Output)
		switch {
		case e.Action == "build-fail" || e.FailedBuild != "":
			compile = true
		case e.Action == "fail" && e.Test == b.test:
			failed = true
		case e.Action == "pass" && e.Test == b.test:
			passed = true
		case e.Action == "fail" && e.Test == "":
			other = true
		}
		panics = panics || strings.HasPrefix(e.Output, "panic: ") || strings.HasPrefix(e.Output, "fatal error: ")
		limit = limit || strings.HasPrefix(e.Output, "panic: test timed out")
	}
	conclusion := notRun
	switch {
	case compile:
		conclusion = notCompiled
	case limit:
		conclusion = timedOut
	case panics && !b.panics:
		conclusion = panicked
	case failed || panics:
		conclusion = caught
	case other:
		conclusion = otherwise
	case passed:
		conclusion = survives
	}
	return outcome{conclusion, output.String()}
}

// baseline runs the tests of all bugs without them, a package at a time. Each has to pass.
func baseline(root string, bugs []bug) error {
	type place struct{ module, pkg string }
	tests := map[place][]string{}
	for _, b := range bugs {
		p := place{b.module, b.pkg}
		if !slices.Contains(tests[p], b.test) {
			tests[p] = append(tests[p], b.test)
		}
	}
	var problems []error
	for p, names := range tests {
		var tops []string
		for _, name := range names {
			top, _, _ := strings.Cut(name, "/")
			tops = append(tops, top)
		}
		patterns := map[string][]string{"^(" + strings.Join(tops, "|") + ")$": names}
		if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "/") }) {
			clear(patterns)
			for _, name := range names {
				patterns[pattern(name)] = []string{name}
			}
		}
		for pattern, names := range patterns {
			events, err := goTest(root, bug{module: p.module, pkg: p.pkg}, pattern)
			if err != nil {
				return err
			}
			for _, name := range names {
				if o := (bug{test: name}).judge(events); o.conclusion != survives {
					problems = append(problems, fmt.Errorf("%s in %s/%s does not pass without a bug:\n%s", name, p.module, p.pkg, o.output))
				}
			}
		}
	}
	return errors.Join(problems...)
}

// pattern matches one test, or one part of a test, for go test's flag -run.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + p + "$"
	}
	return strings.Join(parts, "/")
}

// event is what "go test -json" says about tests, packages and the compiler.
type event struct{ Action, Test, Output, FailedBuild string }

// goTest runs tests of a bug's package and returns what happened, whether they pass or not.
func goTest(root string, b bug, pattern string, flags ...string) ([]event, error) {
	dir := filepath.Join(root, b.module)
	work, err := workspace(dir)
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "GOWORK="+work)
	// Without tables for debuggers, tests are linked in half the time.
	args := slices.Concat([]string{"test", "-json", "-count=1", "-vet=off", "-buildvcs=false", "-ldflags=-s -w", "-timeout=5m", "-run=" + pattern}, flags, []string{b.pkg})
	random, err := usesRapid(dir, b.pkg, env)
	if err != nil {
		return nil, err
	}
	if random {
		args = append(args, "-rapid.nofailfile") // it would keep failures in the checkout
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	events := []event{{Output: stderr.String()}}
	for line := range bytes.Lines(out) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			e = event{Output: string(line)}
		}
		events = append(events, e)
	}
	return events, nil
}

// rapid remembers what usesRapid found, by folder and package.
var rapid = map[[2]string]bool{}

// usesRapid reports whether tests of a package look for counterexamples with package rapid.
func usesRapid(dir, pkg string, env []string) (bool, error) {
	at := [2]string{dir, pkg}
	if known, ok := rapid[at]; ok {
		return known, nil
	}
	cmd := exec.Command("go", "list", "-test", "-deps", pkg)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.Output()
	if err != nil {
		return false, fmt.Errorf("go list %s: %w", pkg, err)
	}
	rapid[at] = bytes.Contains(out, []byte("pgregory.net/rapid\n"))
	return rapid[at], nil
}

// workspace is what the go command needs in GOWORK for a module: those that use the root's
// packages find them by the workspace, the others stand alone.
func workspace(dir string) (string, error) {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	if bytes.Contains(mod, []byte("sotto-dp/sotto v0.0.0")) {
		return "auto", nil
	}
	return "off", nil
}
