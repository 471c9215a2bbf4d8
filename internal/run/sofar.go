package run

import "path/filepath"

// Text is one that a run has released, and what it is for.
type Text struct {
	Condition string `json:"condition"`
	Text      string `json:"text"`
}

// SoFar returns the texts that a run under way has released: each was paid for before it was
// written, and is in the folder's public journal. A run that has no privacy guarantee has none.
func SoFar(dir string) ([]Text, error) {
	entries, _, err := readJournal(filepath.Join(dir, journalFile))
	if err != nil || len(entries) == 0 || entries[0].Header == nil || entries[0].Header.NotPrivate {
		return nil, err
	}
	var out []Text
	for _, e := range entries {
		if e.State == released {
			out = append(out, Text{e.Condition, e.Output})
		}
	}
	return out, nil
}
