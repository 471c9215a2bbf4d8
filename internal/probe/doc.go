// Package probe finds out what models do on this machine: how fast one is ([Bench]), and how
// likely one finds each next token ([Next]).
package probe

// InputError reports a request that a model cannot meet.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return e.Reason }
