package chain

import (
	"errors"
	"fmt"
)

// TamperedError reports that the log is not what was written, and names the first row that
// shows it.
type TamperedError struct {
	// Seq is the number of the row; 0 when what is wrong is not in a row.
	Seq int64
	// Reason explains what is wrong with it.
	Reason string
}

// Error names the row and what to do.
func (e *TamperedError) Error() string {
	where := "outside its rows"
	if e.Seq != 0 {
		where = fmt.Sprintf("at row %d", e.Seq)
	}
	return fmt.Sprintf("the ledger was tampered with or damaged %s: %s; restore it from a backup that agrees with your last checkpoint", where, e.Reason)
}

// ErrUnknown means that the connection or the disk failed during a commit and
// the outcome could not be found out. The change may or may not have been made;
// a charge counts as made. Asking again with the same key settles it.
var ErrUnknown = errors.New("it is not known whether the change was written")

// ErrMissing means that there is no log where one was to be opened.
var ErrMissing = errors.New("there is no ledger here")

// FormatError reports that another version of the program wrote the log.
type FormatError struct {
	// Found is the format of the log, Known that of this program.
	Found, Known int
}

// Error names both formats.
func (e *FormatError) Error() string {
	return fmt.Sprintf("the ledger has format %d, this version of the program reads format %d alone: use the version that made it, or begin a new ledger", e.Found, e.Known)
}
