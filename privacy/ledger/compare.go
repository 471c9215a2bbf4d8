package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/privacy/sketch"
)

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
