package ledger

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sotto-dp/sotto/privacy"
)

// Coverage is what a charge pays for: an event, under the adjacency and for the unit of
// privacy for which it holds, with the labels that decide which budgets apply. The row adds
// the data set and the time. A request to reserve, a request to draw, their rows and the
// charge carry the same value, and only [charge.pays] decides whether one pays for another, so
// that none of its parts can be left out of a comparison.
type Coverage struct {
	// Event is in canonical form.
	Event     string            `json:"event"`
	Adjacency privacy.Adjacency `json:"adjacency"`
	Unit      privacy.Unit      `json:"unit"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// check returns an error if a part is missing or malformed.
func (v *Coverage) check() error {
	switch {
	case len(v.Event) > maxEvent:
		return input("the event has %d characters, at most %d are allowed; book the run in parts", len(v.Event), maxEvent)
	case v.Adjacency == "":
		return input("the adjacency is missing: say for which neighbours the event holds, %s or %s", privacy.AddRemove, privacy.ReplaceOne)
	case v.Unit == "":
		return input("the unit of privacy is missing: say whether the event holds for a %s, or for all records of a user:COLUMN", privacy.Record)
	}
	return cmp.Or(checkText("the unit of privacy", string(v.Unit), 1, 256), checkLabels(v.Labels))
}

// sameNeighboursAndScope compares all but the event, of which a draw is a part.
func (v *Coverage) sameNeighboursAndScope(other *Coverage) bool {
	return v.Adjacency == other.Adjacency && v.Unit == other.Unit && maps.Equal(v.Labels, other.Labels)
}

// pays returns an error if a use at a time cannot be drawn from a charge of the data set. The
// charge must be an open series with the use's event left, for the same data set, adjacency,
// unit and labels. It must also count toward exactly the budgets that the use itself would
// count toward now: not one whose window has closed, and every one that was added since.
func (c *charge) pays(d *dataset, use *Coverage, terms []privacy.Term, at int64) error {
	switch {
	case c.Dataset != d.fingerprint:
		return &UnknownChargeError{c.ID}
	case c.State != Reserved:
		return &StateError{c.ID, c.State, c.State, "it has ended"}
	case !c.remains(terms):
		return &StateError{c.ID, c.State, c.State, "it is not a series that has this event left"}
	case !c.sameNeighboursAndScope(use):
		return &StateError{c.ID, c.State, c.State, "it was reserved for another adjacency, unit or scope"}
	}
	now, err := d.applicable(use.Labels, at)
	if err != nil {
		return err
	}
	same := len(now) == len(c.accounts) && !slices.ContainsFunc(now, func(a *account) bool { return !slices.Contains(c.accounts, a) })
	if !same {
		return &StateError{c.ID, c.State, c.State, "it counts toward other budgets than are open now"}
	}
	return nil
}
