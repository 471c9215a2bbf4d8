package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// hostile is what somebody may call a model, a key or a data set.
const hostile = "a\x1b[2J\x1b]0;t\x07b\x9bc\u009bd\re\x7ff\u202eg\u2066h\u2028i\x08"

// controls returns what of a text would control a terminal, colours apart.
func controls(text string) string {
	var found strings.Builder
	for _, code := range []string{"0", "1", "31", "32", "33"} {
		text = strings.ReplaceAll(text, "\x1b["+code+"m", "")
	}
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			fmt.Fprintf(&found, "%U ", r)
		}
	}
	return found.String()
}

// nameResult is a result with names in every place that a page has.
type nameResult struct {
	Name string `json:"name"`
}

func (n *nameResult) Print(p *Page) {
	p.Line("%s", n.Name)
	p.Head("%s", n.Name)
	p.Alarm("%s", n.Name)
	p.Text(2, n.Name)
	p.Painted(Green, 2, n.Name)
	p.Facts("name", n.Name)
	p.List([]string{n.Name})
	p.Block(n.Name, n.Name)
	p.Line("%s", p.Paint(Bold, n.Name))
	p.File(n.Name + "\n")
	t := NewTable(n.Name, "b")
	t.Add(n.Name, n.Name)
	p.Table(t)
}

// TestHostileNames: whatever names are, neither a result, as text and as JSON, nor an error, a
// warning, a notice or a bar controls the terminal, and programs get the name as it is.
func TestHostileNames(t *testing.T) {
	for _, colour := range []bool{false, true} {
		var out, errs bytes.Buffer
		term := &Terminal{Stdout: &out, Stderr: &errs, Colour: colour, Screen: true}
		term.Guard()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(term.Emit(&nameResult{hostile}))
		if got := controls(out.String()); got != "" {
			t.Errorf("a result, in colours: %t, prints %s", colour, got)
		}
		if got := strings.Count(out.String(), "\x1b["); !colour && got > 0 {
			t.Errorf("without colours there are %d codes", got)
		}
		if colour && !strings.Contains(out.String(), "\x1b[32m") {
			t.Error("there are no colours")
		}
		term.Warn(hostile)
		term.Fail("sotto", "", errors.New(hostile))
		fmt.Fprintf(term.Stderr, "%s\n", hostile)
		if got := controls(errs.String()); got != "" {
			t.Errorf("standard error prints %s", got)
		}
		errs.Reset()
		bar := term.Progress()
		bar.Say(hostile)
		bar.Draw(hostile)
		bar.Clear()
		bar.Object(&nameResult{hostile})
		drawn := strings.NewReplacer("\r", "", "\x1b[K", "").Replace(strings.ReplaceAll(errs.String(), "\uFFFDe", "-"))
		got := controls(drawn)
		at := expect.At(t, "a bar")
		expect.Equal(at, "controls", got, "")
		expect.True(at, "bar.Bar", bar.Bar)
		expect.Equal(at, "number of  ", strings.Count(errs.String(), "\r"), 2)
		out.Reset()
		term.JSON = true
		must(term.Emit(&nameResult{hostile}))
		if got := controls(out.String()); got != "" {
			t.Errorf("JSON prints %s", got)
		}
		var back nameResult
		must(json.Unmarshal(out.Bytes(), &back))
		if want := strings.ToValidUTF8(hostile, "\uFFFD"); back.Name != want {
			t.Errorf("JSON has the name %q, want %q", back.Name, want)
		}
	}
}

// TestForgedColours: a code of a colour that somebody else wrote is none.
func TestForgedColours(t *testing.T) {
	var out bytes.Buffer
	(&Page{W: &out, Colour: true}).Line("%s", "\x1b[32mthe certificate holds\x1b[0m")
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("printed %q", out.String())
	}
}

// TestOneLineCells: a name with line breaks does not make rows of a table.
func TestOneLineCells(t *testing.T) {
	var out bytes.Buffer
	table := NewTable("name", "state")
	table.Add("a\nb  revoked\r\nc", "in use")
	(&Page{W: &out}).Table(table)
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("a table of one row has %d lines: %q", got, out.String())
	}
}

// TestVisible: line breaks and tabs stay, whatever the system calls a line break.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc\r\nd": "a\tb\nc\r\nd", "a\rb": "a\uFFFDb", "a\r": "a\uFFFD", "é\u00a0😀": "é\u00a0😀", "\xff\x9b": "\uFFFD\uFFFD",
	} {
		t.Run(text, func(t *testing.T) {
			if got := Visible(text); got != want {
				t.Errorf("%q becomes %q, want %q", text, got, want)
			}
		})
	}
}
