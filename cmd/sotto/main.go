package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/sotto-dp/sotto/internal/fault"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the next one ends the program at once.
	context.AfterFunc(ctx, stop)
	p := &program{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		keyboard: terminal(os.Stdin), screen: terminal(os.Stderr), display: terminal(os.Stdout), colour: colourful(os.Stdout),
	}
	p.watchFaults(os.Exit)
	defer fault.Watch()
	os.Exit(p.main(ctx, os.Args[1:]))
}

// watchFaults makes panics end the program with an exit code and a message of their own:
// Go's exit code is that of wrong usage, and its message may hold content.
func (p *program) watchFaults(exit func(int)) {
	fault.Handle(func(where string) {
		text := fmt.Sprintf("this is a fault of the program, not of what it was given (in %s): please report it with its version and the command, without data", where)
		if p.json {
			p.writeJSON(failure{Error: text, Code: exitFailed})
		}
		fmt.Fprintf(p.stderr, "sotto: %s\n", text)
		exit(exitFailed)
	})
}

// program is what all verbs share.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// keyboard, screen and display say that stdin, stderr and stdout are terminals.
	keyboard, screen, display bool
	// colour says that stdout is a terminal that shows colours.
	colour bool
	// lines: each JSON object is a line of its own.
	lines bool

	// From the flags that every verb has.
	json       bool
	verbose    bool
	configPath string
	// private is --private of the verbs that read records.
	private string

	settings *settings // of the configuration file, once it is read
}

// main runs the verb that args name and returns the exit code.
func (p *program) main(ctx context.Context, args []string) int {
	root := newRootCommand(p)
	root.SetArgs(literalPrivate(args))
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	// A wrong flag ends the reading of flags, possibly before --json.
	p.json = p.json || slices.Contains(args, "--json")
	return p.fail(cmd, err)
}

// colourful reports whether a file is a terminal whose user wants colours.
func colourful(f *os.File) bool {
	return terminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// await runs a computation that knows nothing of contexts, and stops waiting for
// it when the context ends.
func await[T any](ctx context.Context, compute func() (T, error)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		defer fault.Watch()
		v, err := compute()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}
