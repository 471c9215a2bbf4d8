package ui

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"pgregory.net/rapid"
)

func TestCaret(t *testing.T) {
	long := "compose(" + strings.Repeat("gaussian(1.5), ", 20) + "gausian(2)" + strings.Repeat(", laplace(3)", 20) + ")"
	for _, c := range []struct {
		expr   string
		offset int
		under  string
	}{
		{"gaussian(x)", 9, "x)"},
		{"", 0, ""},
		{"gaussian(3", 10, ""},
		{"repeat(3,\n\tgausian(1))", 11, "gausian"},
		{"εε(1)", 4, "(1)"},
		{"\xff\xfe(1)", 2, "(1)"},
		{long, strings.Index(long, "gausian"), "gausian(2)"},
		{long, len(long), ""},
		{long, 0, "compose("},
	} {
		got := caret(c.expr, c.offset)
		text, mark, ok := strings.Cut(got, "\n")
		if !ok || strings.Contains(mark, "\n") {
			t.Errorf("%q has not two lines", got)
			continue
		}
		column := utf8.RuneCountInString(mark) - 1
		if under := string([]rune(text)[min(column, utf8.RuneCountInString(text)):]); !strings.HasPrefix(under, c.under) || mark != strings.Repeat(" ", column)+"^" {
			t.Errorf("the mark is under %q, want %q:\n%s", under, c.under, got)
		}
		if utf8.RuneCountInString(text) > Width {
			t.Errorf("%d columns wide:\n%s", utf8.RuneCountInString(text), got)
		}
	}
}

func FuzzCaret(f *testing.F) {
	f.Add("gaussian(x)", 3)
	f.Add("ε\xff(", 2)
	f.Fuzz(func(t *testing.T, expr string, offset int) {
		if offset < 0 || offset > len(expr) {
			return
		}
		got := caret(expr, offset)
		expect.Equal(t, "number of lines", strings.Count(got, "\n"), 1)
		expect.True(t, "caret ends with ^", strings.HasSuffix(got, "^"), got)
		expect.True(t, "utf8.ValidString(got)", utf8.ValidString(got), got)
	})
}

// TestFoldKeepsWords: folding changes white space only, and no line is too wide
// unless it is one word.
func TestFoldKeepsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[aε(,)]{0,30}( [a-zε]{1,30}){0,20}`).Draw(t, "s")
		lines := Fold(s, 40)
		if got := strings.Join(lines, " "); got != strings.Join(strings.Fields(s), " ") {
			t.Fatalf("%q became %q", s, got)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > 40 && strings.Contains(l, " ") {
				t.Fatalf("%q is too wide", l)
			}
		}
	})
}

func TestTable(t *testing.T) {
	var b strings.Builder
	p := &Page{W: &b}
	table := NewTable("name", "#ε", "detail")
	table.Add("δδ", "1", strings.Repeat("word ", 20))
	table.Add("long name", "1.25", "")
	p.Table(table)
	want := `  name          ε  detail
  δδ            1  word word word word word word word word word word word word
                   word word word word word word word word
  long name  1.25
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	p.Colour = true
	table = NewTable("a")
	table.Add("b")
	table.Paint = func(int, int) string { return Red }
	p.Table(table)
	if got := b.String(); !strings.Contains(got, "\x1b[31mb\x1b[0m") {
		t.Errorf("no colour in %q", got)
	}
	if got := p.Paint("", "plain"); got != "plain" {
		t.Errorf("%q", got)
	}
}
