// Command planted plants privacy bugs in the program, one at a time, and sees a test catch each.
//
//	planted [-run REGEXP] [-out FILE] ROOT
//	planted -check ROOT
//
// A bug is a file in bugs (bug.go): a few lines of the program as they are and as somebody
// could have got them wrong, and the test that has to fail then. ROOT is the checkout. Nothing
// is changed in it: "go test" gets the wrong files by its flag -overlay.
//
// A bug is caught if the program compiles with it, its test fails, and the same test passes
// without the bug. With -run, only the bugs whose names match are planted. With -out, the table
// of all bugs is written to a file if those were caught. With -check nothing is compiled: every bug
// has to apply to the code as it is now, and its test has to exist.
//
// The exit status is 1 if a bug was not caught.
package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

//go:embed bugs/*.bug
var files embed.FS

func main() {
	check := flag.Bool("check", false, "only see that every bug applies")
	run := flag.String("run", "", "plant only bugs whose names match this regular expression")
	out := flag.String("out", "", "write the table to this file, relative to ROOT")
	flag.Parse()
	if err := planted(*check, *run, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	}
}

func planted(check bool, run, out string, args []string) error {
	if len(args) != 1 {
		return errors.New("name the folder of the checkout")
	}
	bugs, err := readAll(files)
	if err != nil {
		return err
	}
	if check {
		return applies(args[0], bugs)
	}
	wanted, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(bugs), func(b bug) bool { return !wanted.MatchString(b.name) })
	if len(chosen) == 0 {
		return fmt.Errorf("no bug is called %s", run)
	}
	if err := applies(args[0], chosen); err != nil {
		return err
	}
	if err := plant(args[0], chosen); err != nil {
		return err
	}
	if out == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(args[0], out), table(bugs), 0o644)
}

// plant runs the tests without any bug, then with each, and prints how each went.
func plant(root string, bugs []bug) error {
	begun := time.Now()
	if err := baseline(root, bugs); err != nil {
		return err
	}
	fmt.Printf("without a bug all tests pass (%s)\n", time.Since(begun).Round(time.Second))
	var failed []error
	for _, b := range bugs {
		start := time.Now()
		o, err := try(root, b)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		fmt.Printf("%-8s %-32s %s %s (%s)\n", o.word(), b.name, b.packageName(), b.test, time.Since(start).Round(100*time.Millisecond))
		if o.conclusion != caught {
			fmt.Print(o.output)
			failed = append(failed, fmt.Errorf("%s %s", b.name, o.conclusion))
		}
	}
	fmt.Printf("%d of %d bugs caught in %s\n", len(bugs)-len(failed), len(bugs), time.Since(begun).Round(time.Second))
	return errors.Join(failed...)
}
