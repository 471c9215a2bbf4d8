package report

import (
	"fmt"
	"strings"

	"github.com/sotto-dp/sotto/internal/release"
)

// markdown returns the tables of the page, without its plots.
func (d *document) markdown() []byte {
	var b strings.Builder
	p := printer(&b)
	d.opening(p)
	for _, s := range d.Sections {
		s.markdown(p)
	}
	d.ending(p)
	return []byte(b.String())
}

// printer of lines.
func printer(b *strings.Builder) func(string, ...any) {
	return func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
}

// opening is what comes before the sections.
func (d *document) opening(p func(string, ...any)) {
	p("# %s\n", inline(d.Title))
	if d.About != "" {
		p("%s\n", inline(d.About))
	}
	p("> **%s**: %s.\n", release.Mark, why)
	p("Plots and the same tables are in [%s](%s).\n", PageName, PageName)
	p("## Summary\n")
	for _, s := range d.Summary {
		p("- %s", inline(s))
	}
	p("\n## How to read this\n")
	for _, s := range d.Reading {
		p("- %s", inline(s))
	}
}

// ending is what comes after them.
func (d *document) ending(p func(string, ...any)) {
	p("\n## How it was made\n")
	if d.Command != "" {
		p("%s\n", fenced(d.Command))
	}
	for _, f := range d.Facts {
		p("- %s%s", map[bool]string{true: inline(f.Name) + ": "}[f.Name != ""], inline(f.Value))
	}
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
