package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// systems are those that the program must compile for besides this machine's.
var systems = []string{"linux/arm64", "darwin/arm64", "windows/amd64"}

// crossCompile builds the program for other systems, where it is not run.
func crossCompile(r *report, root string) error {
	var failed error
	for _, s := range systems {
		r.plain(fmt.Sprintf("== compiling for %s\n", s))
		system, processor, _ := strings.Cut(s, "/")
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", os.DevNull, "./cmd/sotto")
		cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
		if err := cmd.Run(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("the program does not compile for %s: %w", s, err))
		}
	}
	return failed
}

// emulation is what runs on an emulated arm64 processor: one with the instructions for dot
// and matrix products of bytes, and one without.
type emulation struct {
	processor string
	flags     []string
	packages  []string
}

// brief is part of all tests, whole has the real models too.
var (
	brief = []emulation{
		{"max", []string{"-short", "-skip=^Test(FMA|Exp|Erf|Log)$"}, []string{"./lm/internal/kernel"}},
		{"max", []string{"-short"}, []string{"./lm/gguf"}},
		{"max", []string{"-short", "-run=TinyReference|PagesAreShared", "-skip=TinyReference/long"}, []string{"./lm/llama"}},
		{"cortex-a72", []string{"-short", "-run=Golden|Levels|MulQuantizedLargest"}, []string{"./lm/internal/kernel"}},
	}
	whole = []emulation{
		{"max", nil, []string{"./lm/internal/kernel", "./lm/internal/mapfile", "./lm/gguf", "./lm/tokenizer", "./lm/llama", "./lm/bert"}},
		{"cortex-a72", nil, []string{"./lm/internal/kernel"}},
	}
)

// emulate runs tests on an emulated arm64 processor.
func emulate(r *report, root string, runs []emulation) error {
	if runtime.GOARCH == "arm64" {
		r.plain("== this processor is an arm64: nothing is emulated\n")
		return nil
	}
	qemu := emulator()
	if qemu == "" {
		r.plain("== WITHOUT tests on arm64: there is no qemu-aarch64, and it could not be installed\n")
		return nil
	}
	var failed error
	for _, e := range runs {
		m := module{dir: root, name: "arm64, emulated: " + e.processor}
		flags := append([]string{"-exec=" + qemu + " -cpu " + e.processor}, e.flags...)
		failed = errors.Join(failed, m.run(r, batch{title: "tests", flags: flags, packages: e.packages, processor: "arm64"}, nil))
	}
	return failed
}

// emulator returns the path of qemu's emulator of programs, or "".
func emulator() string {
	for _, name := range []string{"qemu-aarch64-static", "qemu-aarch64"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
