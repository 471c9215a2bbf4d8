package main

import (
	"strings"
	"testing"
)

// TestBugsFit: every bug applies to the code as it is, and its test is there. "make planted" plants them.
func TestBugsFit(t *testing.T) {
	if err := planted(true, "", "", []string{"../.."}); err != nil {
		t.Error(err)
	}
}

const example = `what: A sum is a difference.
kind: unit test
package: ./sums
test: TestSum/small
-- old sums/sum.go --
a + b
-- new --
a - b
-- old sums/sum.go --
x
y
-- new --
`

func TestRead(t *testing.T) {
	b, err := read(example)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.edits) != 2 {
		t.Fatalf("edits: got %q, want 2", b.edits)
	}
	if want := (edit{"sums/sum.go", "a + b", "a - b"}); b.edits[0] != want {
		t.Errorf("the first edit: got %q, want %q", b.edits[0], want)
	}
	if second := b.edits[1]; second.old != "x\ny" || second.new != "" {
		t.Errorf("the second edit: got %q for %q, want none for two lines", second.new, second.old)
	}
	if b.packageName() != "sums" || pattern(b.test) != "^TestSum$/^small$" {
		t.Errorf("package %s, pattern %s", b.packageName(), pattern(b.test))
	}
	for name, wrong := range map[string]string{
		"no edits":    "what: x\nkind: audit\npackage: ./x\ntest: TestX\n",
		"kind":        strings.Replace(example, "unit test", "luck", 1),
		"no test":     strings.Replace(example, "test: TestSum/small\n", "", 1),
		"other field": "who: me\n" + example,
		"two news":    strings.Replace(example, "-- old sums/sum.go --\nx", "-- new --\nx", 1),
	} {
		if _, err := read(wrong); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestJudge(t *testing.T) {
	fail, end := event{Action: "fail", Test: "TestX"}, event{Action: "fail"}
	for name, c := range map[string]struct {
		events []event
		panics bool
		want   conclusion
	}{
		"fails":        {[]event{fail, end}, false, caught},
		"passes":       {[]event{{Action: "pass", Test: "TestX"}, {Action: "pass"}}, false, survives},
		"skipped":      {[]event{{Action: "skip", Test: "TestX"}, {Action: "pass"}}, false, notRun},
		"no test":      {[]event{{Action: "pass"}}, false, notRun},
		"compiler":     {[]event{{Action: "build-fail"}, {Action: "fail", FailedBuild: "x"}}, false, notCompiled},
		"panic":        {[]event{{Output: "panic: oh\n"}, fail, end}, false, panicked},
		"wanted panic": {[]event{{Output: "panic: oh\n"}, fail, end}, true, caught},
		"time":         {[]event{{Output: "panic: test timed out after 5m\n"}, fail, end}, true, timedOut},
		"elsewhere":    {[]event{{Action: "pass", Test: "TestX"}, end}, false, otherwise},
	} {
		if o := (bug{test: "TestX", panics: c.panics}).judge(c.events); o.conclusion != c.want {
			t.Errorf("%s: %s, want %s", name, o.conclusion, c.want)
		}
	}
}
