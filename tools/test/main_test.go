package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// TestReport: of a recorded run, failures, a panic and a compiler's words are shown in
// full, what passed is a line, and the summary has the packages, tests and skips.
func TestReport(t *testing.T) {
	events, err := os.Open("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	var out bytes.Buffer
	r := newReport(&out, false)
	if err := r.read(events); err != nil {
		t.Fatal(err)
	}
	r.spent = []sectionTime{{"tests", 3 * time.Minute, 2 * time.Minute}, {"race detector", 30 * time.Second, time.Minute}}
	r.summary(1)
	if !r.failed() {
		t.Error("the run has not failed")
	}
	for _, want := range []string{
		"== tests\n", "too many return values", "[build failed]", "two is not one", "printed\n",
		"panic: assignment to entry in nil map", "--- FAIL: TestFails/sub", "ok  \texample.org/m/good\t0.315s\n",
		"== the 1 slowest tests", "    0.3  example.org/m/good.TestSub/slow  (tests)\n",
		"    3.0     2.0  tests\n", "    3.5     3.0  all of it\n", "== tests: 4 passed, 1 skipped, 3 failed\n", "skipped example.org/m/good.TestSkipped\n",
		"FAILED  example.org/m/broken\n", "FAILED  example.org/m/fails.TestFails/sub\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q", want)
		}
	}
	if strings.Contains(out.String(), "quiet") || strings.Count(out.String(), "too many return values") != 1 {
		t.Errorf("the report says too much:\n%s", &out)
	}
}

// TestNothing: no events, such as after an error of the go command, is a failure, and
// passing tests are none.
func TestNothing(t *testing.T) {
	for input, failed := range map[string]bool{
		"":                     true,
		"go: no such module\n": true,
		`{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p"}`: false,
		`{"Action":"fail","Package":"p","Elapsed":1}`:                                               true,
	} {
		r := newReport(&bytes.Buffer{}, false)
		if err := r.read(strings.NewReader(input)); err != nil {
			t.Fatal(err)
		}
		if r.failed() != failed {
			t.Errorf("%q: failed is %v", input, !failed)
		}
	}
}
