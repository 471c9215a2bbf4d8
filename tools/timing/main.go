// Timing reads what "go test -json" prints, shows it as go test without -json does, and
// ends with what each package took and the slowest tests.
//
//	{ go test -json ./a/...; go test -json -race ./b/...; } | timing
//
// Lines that are not JSON are shown as they are; one that begins with "== " names the
// runs below it. The exit status is 1 if a test failed or a package did not compile, or if
// there was nothing to read.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	verbose := flag.Bool("v", false, "show the output of tests that passed too")
	slowest := flag.Int("slowest", 20, "how many tests to name at the end")
	flag.Parse()
	r := newReport(os.Stdout, *verbose)
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "timing:", err)
		os.Exit(1)
	}
	r.summary(*slowest)
	if r.failed() {
		os.Exit(1)
	}
}

// read follows the lines until there are no more.
func (r *report) read(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if line[0] != '{' || json.Unmarshal(line, &e) != nil {
				r.plain(string(line))
			} else {
				r.event(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
