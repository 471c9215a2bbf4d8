package models

import (
	"fmt"
	"strings"
)

// MissingError reports that a model of the catalogue is not in the cache.
type MissingError struct {
	// Name of the model, Path of the file that is not there or not whole.
	Name, Path string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("the model %s is not in the cache (%s): fetch it with `sotto model pull %s`", e.Name, e.Path, e.Name)
}

// UnknownError reports that a name is neither in the catalogue nor a file.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	var names []string
	for _, m := range catalogue {
		names = append(names, m.Name)
	}
	return fmt.Sprintf("there is no model %q: name one of %s, or the path of a GGUF file (docs/models.md names others to fetch)", e.Name, strings.Join(names, ", "))
}

// RequestError reports an invalid request.
type RequestError struct{ Why string }

func (e *RequestError) Error() string { return e.Why }

func refuse(format string, args ...any) error { return &RequestError{fmt.Sprintf(format, args...)} }

// HashError reports that a file has the wrong hash.
type HashError struct {
	// Path of the file, or where it came from.
	Path      string
	Want, Got string
	// Done states what happened to the file.
	Done string
}

func (e *HashError) Error() string {
	text := fmt.Sprintf("%s is not the file it should be: its SHA-256 is %s, not %s", e.Path, e.Got, e.Want)
	if e.Done != "" {
		text += "; " + e.Done
	}
	return text
}

// SpaceError reports that the disk is full, or would be.
type SpaceError struct {
	// Dir is on the disk in question. Need is how many bytes are still to be
	// written, Free how many there are room for, -1 if that is not known.
	Dir        string
	Need, Free int64
	Err        error
}

func (e *SpaceError) Error() string {
	room := "the disk is full"
	if e.Free >= 0 {
		room = "only " + Size(e.Free) + " are free"
	}
	return fmt.Sprintf("%s are needed in %s, but %s: make room, or set SOTTO_MODELS to a directory on another disk (what was fetched so far is kept)", Size(e.Need), e.Dir, room)
}

func (e *SpaceError) Unwrap() error { return e.Err }

// SourceError reports why a source did not provide a file.
type SourceError struct {
	// Source is "Hugging Face", "PyPI" or an address.
	Source string
	Err    error
}

func (e *SourceError) Error() string { return e.Source + ": " + e.Err.Error() }
func (e *SourceError) Unwrap() error { return e.Err }

// PullError reports that no source provided a file, and what to do by hand.
type PullError struct {
	Title string
	File  File
	// Path is where the file belongs.
	Path string
	// Tried has an error for each source.
	Tried []error

	again string // what to run in the end
}

func (e *PullError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cannot fetch %s:\n", e.Title)
	for _, err := range e.Tried {
		fmt.Fprintf(&b, "  - %s\n", strings.ReplaceAll(err.Error(), "\n", "\n    "))
	}
	fmt.Fprintf(&b, "What was fetched so far is kept: run the command again when the network works.\nOr by hand, from a machine that has a network:\n")
	for _, way := range e.File.byHand() {
		fmt.Fprintf(&b, "  - %s\n", way)
	}
	fmt.Fprintf(&b, "Put the file at %s", e.Path)
	if e.File.Bytes > 0 {
		fmt.Fprintf(&b, " (%d bytes, SHA-256 %s)", e.File.Bytes, e.File.SHA256)
	} else {
		fmt.Fprintf(&b, " (SHA-256 %s)", e.File.SHA256)
	}
	fmt.Fprintf(&b, " and let it be checked: %s", e.again)
	return b.String()
}

// Unwrap returns the errors of all sources.
func (e *PullError) Unwrap() []error { return e.Tried }

// permanentError marks an error that trying the same source again will not fix.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }
