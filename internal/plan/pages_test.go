package plan_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/internal/sys/reference"
)

// TestMethodPages: each method describes itself, and names the section of docs/proofs.md that proves it.
// make docs has the pages written.
func TestMethodPages(t *testing.T) {
	reference.Write(t, "methods/README.md", []byte(index()))
	for _, s := range method.List() {
		at := expect.At(t, "%s does not describe itself: %+v", s.Name, s)
		expect.True(at, "s.Summary that is not empty", s.Summary != "")
		expect.True(at, "s.Idea that is not empty", s.Idea != "")
		expect.True(at, "s.Cost that is not empty", s.Cost != "")
		expect.True(at, "s.When that is not empty", s.When != "")
		expect.True(at, "s.Not that is not empty", s.Not != "")
		expect.Min(at, "number of s.Steps", len(s.Steps), 1)
		expect.True(at, "s.Draws that is not empty", s.Draws != "")
		expect.True(at, "s.Needs that is not empty", s.Needs != "")
		if s.Bounded() {
			expect.True(at, "s.Cites that is not empty", s.Cites != "")
			expect.True(at, "s.Calibrates that is not empty", s.Calibrates != "")
		}
		if s.Guarantee == method.Proven && (s.Event == "" || section(t, s.Theorem) == "") {
			t.Errorf("%s does not say what it costs (%q), or where docs/proofs.md proves it (%q)", s.Name, s.Event, s.Theorem)
		}
		reference.Write(t, "methods/"+s.Name+".md", []byte(page(t, s)))
	}
}

// section returns the heading of a section of docs/proofs.md, or "".
func section(t *testing.T, number string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n### "+number+". ")
	if !found || number == "" {
		return ""
	}
	title, _, _ := strings.Cut(rest, "\n")
	return number + ". " + title
}

// page returns a method's page, in Markdown.
func page(t *testing.T, s method.Spec) string {
	t.Helper()
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n\n", args...) }
	line("# %s", s.Name)
	line("%s.", capital(s.Summary))
	line("## Idea")
	line("%s", s.Idea)
	line("## Algorithm")
	for i, step := range s.Steps {
		fmt.Fprintf(&out, "%d. %s\n", i+1, step)
	}
	out.WriteString("\n")
	line("Draws: %s. Needs of a model: %s.", s.Draws, s.Needs)
	line("## Guarantee")
	switch s.Guarantee {
	case method.Proven:
		line("(ε, δ)-differential privacy, with a charge and a certificate. A plan meets ε by turning: %s.", s.Calibrates)
		line("[Event](../reference/events.md): %s.", s.Event)
	case method.Claimed:
		line("**NOT PROVEN.** A paper claims it; there is neither a charge nor a certificate. Turned: %s.", s.Calibrates)
	case method.Free:
		line("No record is read, so that it costs nothing.")
	default:
		line("**None.** It has no privacy guarantee, and needs `--non-private`.")
	}
	if s.Guarantee == method.Proven {
		line("## Proof")
		line("%s. Written out, with the tests that attack it: docs/proofs.md, %s.", capital(s.Proof), section(t, s.Theorem))
	}
	if s.Cites != "" {
		line("Papers: %s.", s.Cites)
	}
	line("## Cost")
	line("%s", s.Cost)
	line("## When")
	line("%s", s.When)
	line("**When not.** %s", s.Not)
	line("## Settings")
	if len(s.Settings) == 0 {
		line("None.")
		return strings.TrimRight(out.String(), "\n") + "\n"
	}
	out.WriteString("| Setting | Flag | Values | Default | What it does |\n|---|---|---|---|---|\n")
	for _, one := range s.Settings {
		flag := "`--set " + one.Flag() + "`"
		if s.Kind == method.Profile || s.Kind == method.Perturbation {
			flag = "`--" + one.Flag() + "`"
		}
		if one.Suites || s.Kind == method.Choosing {
			flag = ""
		}
		otherwise := one.Otherwise()
		if one.Type == method.Bool {
			otherwise = "false"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", one.Name, flag, one.Bounds(), otherwise, strings.ReplaceAll(one.Help, "`", ""))
	}
	return out.String()
}

// index returns the list of all methods, in Markdown.
func index() string {
	var out strings.Builder
	out.WriteString("# Methods\n\nEach page is made from what the method says of itself in its file; `sotto plan` compares them on a task.\n")
	for _, kind := range []method.Kind{method.Choosing, method.Learning, method.Texts, method.Answers, method.Profile, method.Perturbation} {
		fmt.Fprintf(&out, "\n## %s\n\n| Method | Guarantee | What it does |\n|---|---|---|\n", capital(string(kind)))
		for _, s := range method.List(kind) {
			fmt.Fprintf(&out, "| [%s](%s.md) | %s | %s |\n", s.Name, s.Name, s.Guarantee, s.Summary)
		}
	}
	return out.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
