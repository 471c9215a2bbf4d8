package ui

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

// Width is the number of columns that output is laid out for: a narrow terminal.
const Width = 80

// Page lays text out.
type Page struct {
	W      io.Writer
	Colour bool
}

// Line prints a line. Anyone who wrote what is in it, colours are all that it tells a terminal.
func (p *Page) Line(format string, args ...any) { p.File(fmt.Sprintf(format+"\n", args...)) }

// File prints a text as it is, except for what would control a terminal.
func (p *Page) File(text string) {
	text = Visible(text)
	if p.Colour {
		text = colours.Replace(text)
	}
	_, _ = io.WriteString(p.W, text) // a Page writes to memory
}

// Colours, as codes of ANSI terminals.
const (
	plain  = "0"
	Bold   = "1"
	Green  = "32"
	Yellow = "33"
	Red    = "31"
)

// marks stand for the codes of colours until a line is printed, so that a code that somebody else
// wrote is none. They are characters for private use, other ones in each process.
var marks = func() map[string]string {
	first := rune(0xF0000 + rand.IntN(0xFF00))
	m := map[string]string{}
	for i, code := range []string{plain, Bold, Green, Yellow, Red} {
		m[code] = string(first + rune(i))
	}
	return m
}()

// colours makes codes of marks.
var colours = func() *strings.Replacer {
	var pairs []string
	for code, mark := range marks {
		pairs = append(pairs, mark, "\x1b["+code+"m")
	}
	return strings.NewReplacer(pairs...)
}()

// Paint puts a text into a colour, if there are colours. It is for what is printed by the page.
func (p *Page) Paint(colour, s string) string {
	if !p.Colour || colour == "" || s == "" {
		return s
	}
	return marks[colour] + s + marks[plain]
}

// Head prints a heading with a blank line after it.
func (p *Page) Head(format string, args ...any) {
	p.Line("%s\n", p.Paint(Bold, fmt.Sprintf(format, args...)))
}

// Alarm prints a heading that warns.
func (p *Page) Alarm(format string, args ...any) {
	p.Line("%s\n", p.Paint(Red, fmt.Sprintf(format, args...)))
}

// Text folds a text into lines with some spaces before them.
func (p *Page) Text(indent int, text string) { p.Painted("", indent, text) }

// Painted is Text in a colour.
func (p *Page) Painted(colour string, indent int, text string) {
	for _, line := range Fold(text, Width-indent) {
		p.Line("%s%s", Pad("", indent), p.Paint(colour, line))
	}
}

// Hanging folds a text to the right of a label.
func (p *Page) Hanging(label, text string, width int) {
	for _, line := range Fold(text, width) {
		p.Line("%s%s", label, line)
		label = Pad("", utf8.RuneCountInString(label))
	}
}

// Facts prints names and values, which alternate, in two columns, and folds long values.
// It leaves out names without a value.
func (p *Page) Facts(pairs ...string) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, utf8.RuneCountInString(pairs[i]))
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			p.Hanging("  "+Pad(pairs[i], width)+"  ", pairs[i+1], Width-width-4)
		}
	}
}

// List prints sentences with dashes.
func (p *Page) List(sentences []string) {
	for _, s := range sentences {
		p.Hanging("  - ", s, Width-4)
	}
}

// Sentences prints a list with a blank line after it, and nothing of none.
func (p *Page) Sentences(list []string) {
	if len(list) > 0 {
		p.List(list)
		p.Line("")
	}
}

// Block shows a text below a title. A bar marks where lines begin.
func (p *Page) Block(title, text string) {
	p.Line("\n%s", p.Paint(Bold, title))
	for line := range strings.SplitSeq(text, "\n") {
		p.Line("%s", strings.TrimRight("  │ "+line, " "))
	}
}

// Pad fills a text up with spaces.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// Fold breaks a text at spaces into lines of at most width characters, where its words
// allow.
func Fold(s string, width int) []string {
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

// Problems lists what is wrong with a file that the user wrote.
func (p *Page) Problems(list []document.Problem) {
	for _, f := range list {
		what, colour := "wrong", Red
		if f.Warning {
			what, colour = "warning", Yellow
		}
		p.Line("%s  %s", p.Paint(colour, Pad(what, len("warning"))), p.Paint(Bold, f.Place()))
		p.Text(9, f.What)
		p.Text(9, f.Fix)
	}
}
