package texts

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/cli/clitest"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

// TestUngainedIsSaidFirst: the first line of what a run prints says that nothing was gained, and its JSON has it; a route
// warns of such a release, and of no other.
func TestUngainedIsSaidFirst(t *testing.T) {
	u := &release.NoGain{Over: release.OverNothing, Text: "Nothing was gained from examples.", Next: []string{"Use a larger model."}}
	for _, r := range []ui.Result{&synthResult{Ungained: u}, &learnResult{Ungained: u}, &rehearseResult{Ungained: u}} {
		for _, json := range []bool{false, true} {
			var out bytes.Buffer
			p := &cli.Program{Terminal: ui.Terminal{Stdout: &out, Stderr: &bytes.Buffer{}, JSON: json}}
			if err := p.Emit(r); err != nil {
				t.Fatal(err)
			}
			if !json && !strings.HasPrefix(out.String(), u.Text+"\n") || json && !strings.Contains(out.String(), `"nothing_gained":`) {
				t.Errorf("%T: %s", r, out.String())
			}
		}
	}
}

// TestUnfilledExamples: lines of a template without a text are left out, and a file that has no other is said to be empty.
func TestUnfilledExamples(t *testing.T) {
	clitest.Home(t)
	task := prompt.Task{Name: "t", Kind: prompt.Classify, Text: "message", Label: "team", Labels: []string{"a", "b"}}
	clitest.Write(t, "none.csv", []byte("message,team\n,a\n  ,b\n"))
	clitest.Write(t, "some.csv", []byte("message,team\n,a\nit is late,b\n"))
	c := chooseFlags{examples: []string{"none.csv", "some.csv"}}
	q := plan.Request{Task: task}
	if err := c.choosing(&q, &cli.SettingFlags{Given: func(string) bool { return false }}); err != nil {
		t.Fatal(err)
	}
	if got := q.Choosing.Examples; len(got) != 1 || got[0].Input != "it is late" {
		t.Errorf("%+v", got)
	}
	var errs bytes.Buffer
	c.warnUnfilled(&cli.Program{Terminal: ui.Terminal{Stderr: &errs}})
	if !strings.Contains(errs.String(), "none.csv has no text yet") || strings.Contains(errs.String(), "some.csv") {
		t.Error(errs.String())
	}
}

// TestUncounted: where the commonest label is not known, a number says so, and how to have it.
func TestUncounted(t *testing.T) {
	w := &release.Worth{Metric: "accuracy", Value: 0.9}
	labels := []string{"a", "b"}
	for _, known := range []bool{false, true} {
		if known {
			w.Commonest = &release.Commonest{Label: "a", Share: 0.6}
		}
		for _, r := range []ui.Result{&synthResult{Worth: w, labels: len(labels)}, &learnResult{Worth: w, Labels: labels}} {
			var out bytes.Buffer
			p := &cli.Program{Terminal: ui.Terminal{Stdout: &out, Stderr: &bytes.Buffer{}}}
			if err := p.Emit(r); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(out.String(), "label-size=LABEL=N"); got == known {
				t.Errorf("%T, known %v: %s", r, known, out.String())
			}
		}
	}
}
