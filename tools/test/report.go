package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// event is a line of "go test -json"; see go doc test2json and go help buildjson.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
	// ImportPath is the package that a compiler's output is about, and FailedBuild the
	// one that kept a package from being tested.
	ImportPath, FailedBuild string
}

// name is a test of a package, or the package itself if Test is empty.
type name struct{ Package, Test string }

// testTime is the seconds of a test or a package in the runs of a section.
type testTime struct {
	place
	seconds float64
}

type place struct {
	name
	section string
}

type report struct {
	out     io.Writer
	verbose bool
	section string

	output  map[name][]string   // of what is still running
	builds  map[string][]string // what compilers said, by package
	within  map[place]float64   // seconds of a test's subtests
	results []testTime
	passed  int
	wrong   int // tests that failed
	skipped []name
	broken  []name
	spent   []sectionTime
}

// sectionTime is what a section took: compiling and testing, of processors and by the clock.
type sectionTime struct {
	section          string
	processors, wall time.Duration
}

func newReport(out io.Writer, verbose bool) *report {
	return &report{out: out, verbose: verbose, output: map[name][]string{}, builds: map[string][]string{}, within: map[place]float64{}}
}

// failed reports whether something failed, or nothing was tested.
func (r *report) failed() bool { return len(r.broken) > 0 || len(r.results) == 0 }

// read follows the events until there are no more.
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

// plain shows a line that is no event.
func (r *report) plain(line string) {
	if name, ok := strings.CutPrefix(strings.TrimSpace(line), "== "); ok {
		r.section = name
	}
	fmt.Fprint(r.out, line)
}

func (r *report) event(e event) {
	at := name{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
	case "output":
		if r.verbose {
			fmt.Fprint(r.out, e.Output)
		} else {
			r.output[at] = append(r.output[at], e.Output)
		}
	case "pass", "skip", "fail":
		r.ended(at, e)
	}
}

// ended shows what a test said if it failed, and how a package ended.
func (r *report) ended(at name, e event) {
	said := r.output[at]
	delete(r.output, at)
	r.results = append(r.results, testTime{place{at, r.section}, e.Elapsed})
	if i := strings.LastIndexByte(at.Test, '/'); i > 0 {
		r.within[place{name{at.Package, at.Test[:i]}, r.section}] += e.Elapsed
	}
	switch {
	case e.Action == "fail":
		r.broken = append(r.broken, at)
		if at.Test != "" {
			r.wrong++
		}
		if e.FailedBuild != "" {
			r.show(r.builds[e.FailedBuild])
			delete(r.builds, e.FailedBuild) // once, though several packages need it
		}
		if at.Test == "" {
			r.unfinished(at.Package)
		}
		r.show(said)
	case at.Test != "" && e.Action == "skip":
		r.skipped = append(r.skipped, at)
	case at.Test != "":
		r.passed++
	case e.Action == "pass" && len(said) > 0:
		r.show(said[len(said)-1:]) // "ok"
	}
}

// unfinished shows what the tests said that were running when their package died.
func (r *report) unfinished(pkg string) {
	var left []name
	for at := range r.output {
		if at.Package == pkg {
			left = append(left, at)
		}
	}
	slices.SortFunc(left, func(a, b name) int { return cmp.Compare(a.Test, b.Test) })
	for _, at := range left {
		r.show(r.output[at])
		delete(r.output, at)
	}
}

func (r *report) show(lines []string) {
	for _, line := range lines {
		fmt.Fprint(r.out, line)
	}
}

// summary shows what packages took, the slowest tests, and what failed, last.
func (r *report) summary(slowest int) {
	var packages, tests []testTime
	for _, t := range r.results {
		if t.Test == "" {
			packages = append(packages, t)
		} else if t.seconds -= r.within[t.place]; t.seconds > 0 {
			tests = append(tests, t)
		}
	}
	longest := func(a, b testTime) int { return cmp.Compare(b.seconds, a.seconds) }
	slices.SortStableFunc(packages, longest)
	slices.SortStableFunc(tests, longest)
	fmt.Fprintln(r.out, "\n== seconds of each package; not those under 0.1")
	for _, t := range packages {
		if t.seconds >= 0.1 {
			r.line(t)
		}
	}
	fmt.Fprintf(r.out, "\n== the %d slowest tests, without their subtests\n", min(slowest, len(tests)))
	for _, t := range tests[:min(slowest, len(tests))] {
		r.line(t)
	}
	fmt.Fprintln(r.out, "\n== minutes of processors and by the clock, with compiling")
	var all sectionTime
	for _, s := range append(r.spent, all) {
		if all.processors, all.wall = all.processors+s.processors, all.wall+s.wall; s.section == "" {
			s = sectionTime{"all of it", all.processors, all.wall}
		}
		fmt.Fprintf(r.out, "%7.1f %7.1f  %s\n", s.processors.Minutes(), s.wall.Minutes(), s.section)
	}
	fmt.Fprintf(r.out, "\n== tests: %d passed, %d skipped, %d failed\n", r.passed, len(r.skipped), r.wrong)
	for _, at := range r.skipped {
		fmt.Fprintln(r.out, "skipped", at)
	}
	for _, at := range r.broken {
		fmt.Fprintln(r.out, "FAILED ", at)
	}
}

func (r *report) line(t testTime) {
	fmt.Fprintf(r.out, "%7.1f  %s", t.seconds, t.name)
	if t.section != "" {
		fmt.Fprintf(r.out, "  (%s)", t.section)
	}
	fmt.Fprintln(r.out)
}

// String writes a test as package.Test.
func (n name) String() string {
	if n.Test == "" {
		return n.Package
	}
	return n.Package + "." + n.Test
}
