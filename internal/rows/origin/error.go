package origin

import (
	"context"
	"errors"
	"fmt"
)

// Code says what kind of trouble an [Error] is about.
type Code string

// The codes.
const (
	// Unusable: the location, the file or an option cannot be used as it is.
	Unusable Code = "unusable"
	// Columns: a column that was asked for does not exist.
	Columns Code = "columns"
	// Malformed: records cannot be used.
	Malformed Code = "malformed"
	// Changed: the source is no longer what was enrolled.
	Changed Code = "changed"
	// Damaged: the file is not what it should be: it was cut off, changed, or is of
	// another format.
	Damaged Code = "damaged"
	// Unreadable: reading failed.
	Unreadable Code = "unreadable"
)

// Error is what goes wrong with a source. It never holds content of a record.
type Error struct {
	Code Code
	// Ordinal is the record it is about, counted from 1, or 0.
	Ordinal int64
	// Msg says what is wrong and what to do.
	Msg string
	// Err is the cause, when it is one that cannot hold content.
	Err error
}

// Error names the record and the remedy.
func (e *Error) Error() string {
	msg := e.Msg
	if e.Ordinal > 0 {
		msg = fmt.Sprintf("record %d: %s", e.Ordinal, msg)
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Outline is the error without which record it is about, for what is kept or handed on.
func (e *Error) Outline() string {
	whole := *e
	whole.Ordinal = 0
	if e.Ordinal > 0 {
		whole.Msg = "a record: " + e.Msg
	}
	return whole.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Refuse is an error about the location or an option.
func Refuse(format string, args ...any) error {
	return &Error{Code: Unusable, Msg: fmt.Sprintf(format, args...)}
}

// Fail is an error of reading; one that is known stays as it is.
func Fail(err error) error {
	if known := (*Error)(nil); errors.As(err, &known) {
		return err
	}
	if ended := Ended(err); ended != nil {
		return ended
	}
	return &Error{Code: Unreadable, Msg: "reading the records", Err: err}
}

// Differs is the error of a source that is not what it was, at a record or anywhere (0).
func Differs(ordinal int64) error {
	return &Error{
		Code: Changed, Ordinal: ordinal,
		Msg: "it is not what it was when the source was opened: leave the source as it is during a run, and start a new run on a changed one (a query needs an ORDER BY that leaves no ties)",
	}
}

// Ended is the reason for which a context ended, if that is what an error is about.
func Ended(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}
