package plan

// ChangedError says that a call would carry out another plan than the one that was approved: the program, the
// model or a file has changed since. No record was read and nothing is charged.
type ChangedError struct{ Reason string }

func (e *ChangedError) Error() string {
	return "the plan is not the one that was approved: " + e.Reason + ". Nothing is charged. Plan it anew, and approve that"
}
