// Command wheel writes a Python wheel that carries the program and its client.
//
//	go -C tools run ./wheel -python ../python -program ../bin/sotto -version v1.2.3 -out ../dist
//
// A wheel (PEP 427) is a ZIP file with a list of its files. The program is one static binary, so
// that nothing is compiled or linked here, and the same input gives the same bytes: files are in
// order, and their times are fixed.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "wheel:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("wheel", flag.ContinueOnError)
	source := flags.String("python", "", "the `folder` with pyproject.toml, README.md and src")
	program := flags.String("program", "", "the program, a `file`")
	licence := flags.String("licence", "", "the `file` with the licence")
	version := flags.String("version", "", "the version, as \"git describe\" prints it")
	platform := flags.String("platform", runtime.GOOS+"/"+runtime.GOARCH, "what the program is built for, as `OS/ARCH`")
	out := flags.String("out", "", "the `folder` to write to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for name, value := range map[string]string{"python": *source, "program": *program, "version": *version, "out": *out} {
		if value == "" {
			return fmt.Errorf("-%s is required", name)
		}
	}
	p, err := readProject(filepath.Join(*source, "pyproject.toml"))
	if err != nil {
		return err
	}
	w := wheel{project: p, version: normalVersion(*version), platform: *platform}
	if err := w.collect(*source, *program, *licence); err != nil {
		return err
	}
	data, err := w.pack()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	path := filepath.Join(*out, w.file())
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}
