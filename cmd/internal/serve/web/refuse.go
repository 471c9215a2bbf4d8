package web

import (
	"errors"
	"net/http"

	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/plan"
)

// Refusal is an error for the one who asked: pages show its text as it is, so it must not say where
// records, keys or other files are. Whatever else goes wrong is for the log alone.
type Refusal = store.Refusal

// Refuse makes a [*Refusal], with a text that pages show.
func Refuse(format string, args ...any) error { return store.Refuse(format, args...) }

// errUnsaid stands for what is in the log.
var errUnsaid = &problem{http.StatusInternalServerError, "This could not be done. The service's log says why."}

// wrong is what an error says to anyone who sent something. Refusals and mistakes in what is planned
// are theirs to read. All else may name files of this machine: it goes to the log.
func (d *Dashboard) wrong(err error) error {
	if p := new(problem); errors.As(err, &p) || errors.Is(err, store.ErrStore) {
		return err
	}
	if errors.Is(err, store.ErrDenied) {
		return errForbidden
	}
	if text, ok := forPeople(err); ok {
		return &problem{http.StatusBadRequest, text}
	}
	d.Log.Error("something asked for on a page failed", "error", err.Error())
	return errUnsaid
}

// forPeople is the text of an error that is for the one who asked.
func forPeople(err error) (text string, ok bool) {
	var refused *Refusal
	if errors.As(err, &refused) {
		return sentence(refused.Text), true
	}
	var input *plan.InputError
	if errors.As(err, &input) {
		return sentence(input.Error()), true
	}
	return "", false
}

// ofStore marks what the store or the routes refuse, which is written for people: they check what
// a form says, and know of no file. What the database says stays [store.ErrStore].
func ofStore(err error) error {
	if err == nil || errors.Is(err, store.ErrStore) || errors.Is(err, store.ErrDenied) {
		return err
	}
	return Refuse("%s", err)
}
