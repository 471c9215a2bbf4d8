// Package worth measures what examples are worth: how well a model answers the questions of
// a test with a set of them in its prompt, and how sets compare on the same questions.
//
// Sets come from files and from folders of releases ([ReadSet]); an [Evaluation] asks the
// questions. Nothing here sees a private record, except where a set is marked as not
// private: such sets are for models that may see records.
package worth

import "fmt"

// InputError is about a file that the user named.
type InputError struct{ error }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.error }

func wrong(format string, args ...any) error { return &InputError{fmt.Errorf(format, args...)} }
