package ui

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Stream shows an answer while it is written.
type Stream struct {
	W io.Writer
	// Width to break lines at; 0 leaves them as they are.
	Width int

	shown  string // what of the answer is out
	column int
	err    error
}

// Show shows what is new; where lines are broken, as far as words are complete.
func (t *Stream) Show(soFar string) {
	rest, ok := strings.CutPrefix(soFar, t.shown)
	if !ok || !utf8.ValidString(rest) {
		return
	}
	if t.Width > 0 {
		rest = rest[:max(0, strings.LastIndexByte(rest, ' '))] // the last word may continue
	}
	if rest != "" {
		t.put(rest)
	}
}

// End shows the rest, and ends the line.
func (t *Stream) End(text string) error {
	rest, ok := strings.CutPrefix(text, t.shown)
	if !ok {
		t.stop()
		t.shown, t.column, rest = "", 0, text
	}
	t.put(rest)
	t.stop()
	return t.err
}

// Break ends the line of an answer that is not complete, if anything of it is shown.
func (t *Stream) Break() {
	if t.shown != "" {
		t.stop()
	}
}

func (t *Stream) stop() {
	if t.err == nil {
		_, t.err = t.W.Write([]byte("\n"))
	}
}

// put writes words, on new lines where they do not fit.
func (t *Stream) put(text string) {
	t.shown += text
	var b strings.Builder
	for text != "" {
		// A word with the spaces before it.
		end := len(text)
		if i := strings.IndexByte(strings.TrimLeft(text, " "), ' '); i >= 0 {
			end = len(text) - len(strings.TrimLeft(text, " ")) + i
		}
		word := Visible(text[:end])
		text = text[end:]
		n := utf8.RuneCountInString(word)
		if t.Width > 0 && t.column > 0 && t.column+n > t.Width && strings.HasPrefix(word, " ") {
			word = "\n" + strings.TrimLeft(word, " ")
			n, t.column = utf8.RuneCountInString(word)-1, 0
		}
		b.WriteString(word)
		t.column += n
	}
	if t.err == nil {
		_, t.err = t.W.Write([]byte(b.String()))
	}
}
