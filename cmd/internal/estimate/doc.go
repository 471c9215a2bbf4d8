// Package estimate keeps what was found out about a table, as files: the distribution that
// perturbed rows come from ([Open], [Estimate]), or the histograms of a released profile
// ([ReadProfile]). Examples are drawn from it, any number of times ([File.Sample],
// [File.Near]), or rows are predicted from it without a language model ([ReadPredictor]).
//
// It reads perturbed rows and released counts only, so nothing in here costs any privacy.
package estimate

import "fmt"

// InputError is about files or settings that the user named.
type InputError struct{ error }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.error }

func inputError(err error) error { return &InputError{err} }

func wrong(format string, args ...any) error { return &InputError{fmt.Errorf(format, args...)} }
