package run

import (
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/privacy/ledger"
)

// declined reports whether the ledger said that the run cannot be charged: nothing is,
// nothing was drawn, and the same call again would end the same.
func (r *engine) declined(err error) bool {
	return r.exec.progress.charge == "" && (errors.As(err, new(*ledger.RefusedError)) || errors.As(err, new(*ledger.MismatchError)) ||
		errors.As(err, new(*ledger.ExistsError)) || errors.As(err, new(*ledger.UnknownDatasetError)) ||
		errors.As(err, new(*ledger.OverlapError)) || errors.As(err, new(*ledger.KeyIDError)))
}

// abandon takes back a run that never was, so that the folder is free for another.
func (r *engine) abandon() error {
	if err := r.exec.journal.close(); err != nil {
		return err
	}
	r.exec.journal = nil
	for _, name := range []string{journalFile, planFile} {
		if err := remove(r.exec.folder.disk, r.exec.folder.path(name)); err != nil {
			return fmt.Errorf("remove what the run began: %w", err)
		}
	}
	if err := r.exec.folder.complete(); err != nil || !r.exec.folder.made {
		return err
	}
	return remove(r.exec.folder.disk, r.exec.folder.dir)
}

// interrupted says how to continue, where that helps.
func (r *engine) interrupted(err error) error {
	if _, ok := errors.AsType[*FolderError](err); ok {
		return err
	}
	e := &InterruptedError{Dir: r.exec.folder.dir, Asked: r.exec.asked, Done: r.exec.progress.done(), Texts: r.exec.spec.Texts, Err: err}
	if r.exec.progress != nil {
		e.Charge = r.exec.progress.charge
	}
	return e
}
