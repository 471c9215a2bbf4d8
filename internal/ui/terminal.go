package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/sys/fault"
)

// Terminal is where a program reads and writes, and how.
type Terminal struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Keyboard, Screen and Display report whether Stdin, Stderr and Stdout are terminals.
	Keyboard, Screen, Display bool
	// Colour reports whether Stdout is a terminal that shows colours.
	Colour bool
	// JSON prints results as JSON; Lines puts each object on a line of its own.
	JSON, Lines bool
	// Verbose reports what work a run did, on Stderr.
	Verbose bool
	// Encoding is told of each value before it is written as JSON, if it is given; for tests, which
	// describe results by their types.
	Encoding func(any)
}

// Main runs a program on the process's own terminal, which it fills in, and exits with the
// code that run returns. The first signal ends the context, the next one the process.
func Main(program string, t *Terminal, run func(context.Context) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	*t = Terminal{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Keyboard: terminal(os.Stdin), Screen: terminal(os.Stderr), Display: terminal(os.Stdout), Colour: colourful(os.Stdout),
	}
	t.Guard()
	t.WatchFaults(program, os.Exit)
	defer fault.Watch()
	os.Exit(run(ctx))
}

// Guard keeps what is printed on Stderr from controlling the terminal: errors and warnings name what
// files, servers and other people say. Results are kept from it by [Page] and [EncodeJSON].
func (t *Terminal) Guard() {
	if _, is := t.Stderr.(visibleWriter); !is {
		t.Stderr = visibleWriter{t.Stderr}
	}
}

// visibleWriter prints what is visible.
type visibleWriter struct{ w io.Writer }

func (g visibleWriter) Write(data []byte) (int, error) {
	if _, err := g.w.Write([]byte(Visible(string(data)))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// unguarded is for what draws: it guards what it is given itself.
func unguarded(w io.Writer) io.Writer {
	if g, is := w.(visibleWriter); is {
		return g.w
	}
	return w
}

// WatchFaults makes panics end the program with an exit code and a message of their own:
// Go's exit code means wrong usage here, and its message may hold content.
func (t *Terminal) WatchFaults(program string, exit func(int)) {
	fault.Handle(func(where string) {
		text := fmt.Sprintf("this is an internal error, not of what it was given (in %s): please report it with its version and the command, without data", where)
		if t.JSON {
			_ = t.WriteJSON(failure{Error: text, Code: Failed}) // the exit code says so too
		}
		fmt.Fprintf(t.Stderr, "%s: %s\n", program, text)
		exit(Failed)
	})
}

// terminal reports whether a file is one, which /dev/null is not.
func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// colourful reports whether a file is a terminal whose user wants colours.
func colourful(f *os.File) bool {
	return terminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Result is what a verb found out. It marshals to one JSON object, and prints itself for
// people.
type Result interface {
	Print(*Page)
}

// PageFunc is a result that is for people alone.
type PageFunc func(*Page)

// Print implements [Result].
func (f PageFunc) Print(p *Page) { f(p) }

// Emit prints the result of a verb; each verb calls it once.
func (t *Terminal) Emit(r Result) error {
	if t.JSON {
		return t.WriteJSON(r)
	}
	var b bytes.Buffer
	r.Print(&Page{W: &b, Colour: t.Colour})
	return t.Write(b.Bytes())
}

// Warned prints warnings on Stderr and then the result, which has them too.
func (t *Terminal) Warned(r Result, warnings []string) error {
	t.Warn(warnings...)
	return t.Emit(r)
}

// Write puts all of a result on Stdout, or returns an error.
func (t *Terminal) Write(data []byte) error {
	if _, err := t.Stdout.Write(data); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// WriteJSON puts a value on Stdout as JSON.
func (t *Terminal) WriteJSON(v any) error {
	if t.Encoding != nil {
		t.Encoding(v)
	}
	data, err := EncodeJSON(v, !t.Lines)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	return t.Write(data)
}

// EncodeJSON encodes a value with a line break at its end, and leaves <, > and & as they are. What
// would control a terminal is escaped.
func EncodeJSON(v any, indent bool) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if indent {
		e.SetIndent("", "  ")
	}
	err := e.Encode(v)
	return escape(b.Bytes()), err
}

// escape escapes the characters of JSON's strings that control terminals and that JSON leaves alone.
func escape(data []byte) []byte {
	if !bytes.ContainsFunc(data, func(r rune) bool { return r >= '\u007f' && document.Controls(r) }) {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		if r >= '\u007f' && document.Controls(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// Warn prints warnings on Stderr. The result has them too.
func (t *Terminal) Warn(warnings ...string) {
	for _, w := range warnings {
		fmt.Fprintf(t.Stderr, "warning: %s\n", w)
	}
}

// Took reports what work was done, if the user asked for it, on Stderr: it depends on the
// records that were drawn, so that no result has it.
func (t *Terminal) Took(work string, seconds float64) {
	if t.Verbose {
		fmt.Fprintf(t.Stderr, "took %s in %s, which depends on the records: do not publish it\n", work, Span(seconds))
	}
}
