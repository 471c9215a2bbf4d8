package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// result is what a verb found out. It marshals to one JSON object, and prints
// itself for people.
type result interface {
	print(*page)
}

// emit prints the result of a verb; each verb calls it once.
func (p *program) emit(r result) error {
	if p.json {
		return p.writeJSON(r)
	}
	var b bytes.Buffer
	r.print(&page{w: &b, colour: p.colour})
	return p.write(b.Bytes())
}

// write puts the whole of a result on standard output, or says that it did not.
func (p *program) write(data []byte) error {
	if _, err := p.stdout.Write(data); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func (p *program) writeJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if !p.lines {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	return p.write(b.Bytes())
}

// warn tells people something that is in the result too.
func (p *program) warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(p.stderr, "warning: %s\n", w)
	}
}

// took tells with --verbose what work was done, on standard error: it depends on the
// records that were drawn, so that it is in no result.
func (p *program) took(work string, seconds float64) {
	if p.verbose {
		fmt.Fprintf(p.stderr, "took %s in %s, which depends on the records: do not publish it\n", work, span(seconds))
	}
}

// pageWidth is that of the narrowest terminal that output is laid out for.
const pageWidth = 80

// page lays text out.
type page struct {
	w      io.Writer
	colour bool
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// Colours, as codes of ANSI terminals.
const (
	bold   = "1"
	green  = "32"
	yellow = "33"
	red    = "31"
)

func (p *page) paint(colour, s string) string {
	if !p.colour || colour == "" || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// fact is a line of a list of names and values.
type fact struct{ name, value string }

// facts prints names and values in two columns, and breaks long values.
func (p *page) facts(list ...fact) {
	width := 0
	for _, f := range list {
		width = max(width, utf8.RuneCountInString(f.name))
	}
	for _, f := range list {
		if f.value == "" {
			continue
		}
		for i, part := range fold(f.value, pageWidth-width-4) {
			name := f.name
			if i > 0 {
				name = ""
			}
			p.line("  %s  %s", pad(name, width), part)
		}
	}
}

// sentences prints a list with dashes, and a blank line after it.
func (p *page) sentences(list []string) {
	for _, s := range list {
		for i, line := range fold(s, pageWidth-4) {
			p.line("  %s %s", map[bool]string{true: "-", false: " "}[i == 0], line)
		}
	}
	if len(list) > 0 {
		p.line("")
	}
}

// pad fills a text up with spaces.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// fold breaks a text at spaces into lines of at most width characters, where
// its words allow.
func fold(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// table is rows under a heading. The last column may be long and is folded.
type table struct {
	head []string
	// numeric columns are aligned on the right.
	numeric map[int]bool
	rows    [][]string
	// paint gives the colour of a cell, empty for none.
	paint func(row, column int) string
}

func (p *page) table(t table) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	last := len(t.head) - 1
	used := 2
	for _, w := range widths[:last] {
		used += w + 2
	}
	cell := func(i int, s string) string {
		if t.numeric[i] {
			return strings.Repeat(" ", widths[i]-utf8.RuneCountInString(s)) + s
		}
		if i == last {
			return s
		}
		return pad(s, widths[i])
	}
	print := func(row []string, colour func(int) string) {
		rest := fold(row[last], max(20, pageWidth-used))
		for k, part := range rest {
			var b strings.Builder
			for i := range row {
				s := ""
				if i == last {
					s = part
				} else if k == 0 {
					s = row[i]
				}
				b.WriteString("  " + p.paint(colour(i), cell(i, s)))
			}
			p.line("%s", strings.TrimRight(b.String(), " "))
		}
	}
	print(t.head, func(int) string { return bold })
	for r, row := range t.rows {
		print(row, func(i int) string {
			if t.paint == nil {
				return ""
			}
			return t.paint(r, i)
		})
	}
}
