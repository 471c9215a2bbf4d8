// Command test runs the tests of every module, shows what "go test" does, and ends with what each section and
// package took and the slowest tests.
//
//	test [-short] [-rest] [-read] [-arm64] ROOT [FLAG…]
//
// FLAGs are go test's. The race detector makes tests about six times as slow, so it is on
// only where there are goroutines (plan.go); with -short it is off, and what is long is
// left out. With -rest, only what "make test" leaves out runs: modules beside the program's, what is
// published, the laboratory, tests called TestLong…, the race detector on the largest programs, compiling
// for other systems, and a part of the tests on an emulated arm64 processor. With -arm64, only that processor's tests run, with the real models. With -read,
// the events of "go test -json" come from the standard input.
//
// The exit status is 1 if a test failed, a package did not compile, or nothing was tested.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	quick := flag.Bool("short", false, "without the race detector and long tests")
	later := flag.Bool("rest", false, "only what takes long, modules beside the program's and other systems")
	read := flag.Bool("read", false, "only report on events from the standard input")
	arm64 := flag.Bool("arm64", false, "only what runs on arm64, all of it, emulated")
	flag.Parse()
	in := usual
	if *quick {
		in = short
	} else if *later {
		in = rest
	}
	if err := test(in, *read, *arm64, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "test:", err)
		os.Exit(1)
	}
}

func test(in tier, read, arm64 bool, args []string) error {
	r := newReport(os.Stdout, slices.Contains(args, "-v"))
	var failed error
	switch {
	case read:
		failed = r.read(os.Stdin)
	case len(args) == 0:
		return errors.New("name the folder with the modules")
	case arm64:
		failed = emulate(r, args[0], whole)
	default:
		if memory, remove := inMemory(in == short); memory != "" {
			defer remove()
			// What is compiled is too large for it.
			os.Setenv("GOTMPDIR", cmp.Or(os.Getenv("GOTMPDIR"), os.TempDir()))
			os.Setenv("TMPDIR", memory)
		}
		failed = modules(r, args[0], args[1:], in)
		if in == rest && len(args) == 1 {
			failed = errors.Join(failed, crossCompile(r, args[0]), emulate(r, args[0], brief))
		}
	}
	r.summary(20)
	if r.failed() {
		return errors.New("tests failed")
	}
	return failed
}

// modules tests a tier of every module below a folder, though one fails.
func modules(r *report, root string, flags []string, in tier) error {
	race := in != short && compiler()
	if in != short && !race {
		r.plain("== WITHOUT the race detector: it needs a C compiler, and there is none\n")
	}
	var failed error
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.Name() != "go.mod" {
			return nil
		}
		m, err := open(filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, b := range m.batches(in, race) {
			failed = errors.Join(failed, m.run(r, b, flags))
		}
		return nil
	})
	return errors.Join(err, failed)
}

// compiler reports whether there is a C compiler, which the race detector needs.
func compiler() bool {
	out, err := exec.Command("go", "env", "CC").Output()
	if words := strings.Fields(string(out)); err == nil && len(words) > 0 {
		_, err = exec.LookPath(words[0])
		return err == nil
	}
	return false
}

// run tests a batch. That a test failed is seen by the report.
func (m *module) run(r *report, b batch, flags []string) error {
	r.plain(fmt.Sprintf("== %s in %s\n", b.title, m.name))
	// One package more than there are processors: tests wait for servers, disks and time-outs part of the time.
	packages := fmt.Sprintf("-p=%d", runtime.GOMAXPROCS(0)+1)
	// Lint vets all, and without tables for debuggers tests are linked in half the time.
	args := slices.Concat([]string{"test", "-json", "-buildvcs=false", "-vet=off", "-ldflags=-s -w", packages, "-timeout=45m"}, b.flags, flags, b.packages)
	if strings.HasSuffix(m.name, "/tools") {
		// They read files of the repository outside of their module, whose changes Go's cache of
		// test results does not see.
		args = slices.Insert(args, 1, "-count=1")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = m.dir, m.environ(b.race), os.Stderr
	if b.processor != "" {
		cmd.Env = append(cmd.Env, "GOARCH="+b.processor, "CGO_ENABLED=0")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	err = errors.Join(r.read(out), cmd.Wait())
	r.spent = append(r.spent, sectionTime{r.section, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(begun)})
	return err
}
