package report

import (
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/release"
)

// why no evaluation is private.
const why = "the random numbers of an evaluation are taken from seeds, so that it can be repeated. " +
	"An ε in here says what a run with secret randomness costs; these texts have no guarantee, no certificate and no charge in a ledger"

// reading explains the tables.
var reading = []string{
	"A method writes as many demonstration sets as there are seeds; each is measured on the same test items. A value is the mean over sets, ± their standard deviation; the interval below is where the mean would be, 19 times of 20, with other seeds and other items.",
	"ε = 0: no record is used. ε = ∞: nothing protects the records that are used.",
	"Calibrated: probabilities of labels are divided by those that a question without content gets.",
}

// readingOnline is added where records answer.
var readingOnline = []string{
	"Online: records answer each question by themselves, with another draw for each seed; ε is for a number of answers together. For all others ε pays for demonstrations, which serve any number of answers.",
	"Claimed: a publication says that ε holds, and its proof does not. Such a method is no competitor at that ε.",
}

func (d *document) markdown() []byte {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# %s\n", inline(d.Title))
	if d.About != "" {
		p("%s\n", inline(d.About))
	}
	p("> **%s**: %s.\n", release.Mark, why)
	p("## How to read this\n")
	for _, s := range d.Reading {
		p("- %s", inline(s))
	}
	for _, s := range d.Sections {
		s.markdown(p)
	}
	p("\n## How it was made\n")
	if d.Command != "" {
		p("%s\n", fenced(d.Command))
	}
	for _, f := range d.Facts {
		p("- %s%s", map[bool]string{true: inline(f.Name) + ": "}[f.Name != ""], inline(f.Value))
	}
	return []byte(b.String())
}

func (s *section) markdown(p func(string, ...any)) {
	p("\n## %s", inline(s.Title))
	for _, t := range s.Text {
		p("\n%s", inline(t))
	}
	for _, t := range s.Tables {
		t.markdown(p)
	}
}

func (t *table) markdown(p func(string, ...any)) {
	p("\n%s\n", inline(t.Caption))
	head, rule := make([]string, len(t.Head)), make([]string, len(t.Head))
	for i, h := range t.Head {
		head[i], rule[i] = inline(h), "--:"
	}
	if len(rule) > 0 {
		rule[0] = "---"
	}
	p("| %s |\n| %s |", strings.Join(head, " | "), strings.Join(rule, " | "))
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, e := range row {
			cells[i] = inline(e.Text)
			if e.Strong {
				cells[i] = "**" + cells[i] + "**"
			}
			for _, s := range e.Small {
				cells[i] += "<br>" + inline(s)
			}
		}
		p("| %s |", strings.Join(cells, " | "))
	}
	for _, n := range t.Notes {
		p("\n%s", inline(n))
	}
}

// special are the characters that Markdown could take for more than themselves.
var special = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "|", `\|`, "#", `\#`, "&", "&amp;", "~", `\~`, "!", `\!`,
	"\n", " ", "\r", " ",
)

// inline is text within a line of Markdown.
func inline(s string) string { return special.Replace(s) }

// fenced returns a block of code that a fence within cannot end.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "console\n" + strings.TrimRight(s, "\n") + "\n" + fence
}
