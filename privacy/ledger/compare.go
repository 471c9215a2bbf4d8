package ledger

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/privacy/sketch"
)

// Comparison is what the ledger finds about some data. It tells whose records the data
// holds, and is for the owners of those.
type Comparison struct {
	// Is is the data set that the data is, in a state that is recorded; empty if none.
	Is Fingerprint
	// Shares are all data sets that it shares records with, the most first.
	Shares []SharedDataset
}

// Compare finds the data sets that some data shares records with. Unlike [Ledger.Resolve]
// it records nothing.
func (l *Ledger) Compare(ctx context.Context, id Identity) (c Comparison, err error) {
	if err := id.check(); err != nil {
		return c, err
	}
	err = l.read(ctx, func(s *state, _ int64) error {
		if err := s.sameKey(id.KeyID, id.KeyPath); err != nil {
			return err
		}
		if d := s.versions[id.Fingerprint]; d != nil {
			c.Is = d.fingerprint
		}
		if id.Sketch.IsZero() {
			return nil
		}
		related, err := s.related(id.Sketch)
		c.Shares = shares(related)
		return err
	})
	return c, err
}

func overlapError(id *Identity, exact *dataset, related []relative) error {
	related = slices.DeleteFunc(related, func(r relative) bool { return r.dataset == exact })
	e := &OverlapError{Fingerprint: id.Fingerprint, With: shares(related)}
	if exact != nil {
		e.Known = exact.title()
	}
	return e
}

// shares returns what is related for display, the most first.
func shares(related []relative) []SharedDataset {
	var list []SharedDataset
	for _, r := range related {
		list = append(list, SharedDataset{r.dataset.fingerprint, r.dataset.name, r.overlap})
	}
	slices.SortStableFunc(list, func(a, b SharedDataset) int {
		if closer(a.Overlap, b.Overlap) {
			return -1
		}
		return 1
	})
	return list
}

// SharedDataset is a data set that shares records with some data.
type SharedDataset struct {
	Dataset Fingerprint    `json:"dataset"`
	Name    string         `json:"name,omitempty"`
	Overlap sketch.Overlap `json:"-"`
}

func (s *SharedDataset) title() string { return cmp.Or(s.Name, string(s.Dataset)) }

// titles lists data sets as arguments of a command.
func titles(of []SharedDataset) string {
	var names []string
	for i := range of {
		names = append(names, "\""+of[i].title()+"\"")
	}
	return strings.Join(names, " ")
}
