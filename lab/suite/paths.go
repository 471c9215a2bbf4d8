package suite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/prompt"
)

// task of a data set.
func (s Suite) task(d Dataset) (prompt.Task, error) {
	ref := d.Task
	if document.IsPath(ref) {
		ref = s.path(ref)
	}
	t, err := prompt.Find(ref)
	if err != nil {
		return t, fmt.Errorf("data set %s: %w", d.Name, err)
	}
	return t, nil
}

// path returns the path of a file that a suite names.
func (s Suite) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, filepath.FromSlash(name))
}

// In puts a folder in the place of "{data}/" in paths of a suite.
func (s Suite) In(data string) (Suite, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return s, fmt.Errorf("find the folder of data: %w", err)
	}
	s.Datasets = slices.Clone(s.Datasets)
	for i := range s.Datasets {
		d := &s.Datasets[i]
		for _, name := range []*string{&d.Task, &d.Train, &d.Test, &d.Inputs, &d.Data, &d.Schema, &d.LocalSchema} {
			if rest, ok := strings.CutPrefix(*name, "{data}/"); ok {
				*name = filepath.Join(data, filepath.FromSlash(rest))
			}
		}
	}
	return s, nil
}

// conditionsOf is the most inputs of a public file that texts are written for.
const conditionsOf = 200

// WithInputs reads the public inputs that data sets name files of. Paths that begin with
// "{data}/" have to be in their place ([Suite.In]).
func (s Suite) WithInputs() (Suite, error) {
	s.Datasets = slices.Clone(s.Datasets)
	for i := range s.Datasets {
		d := &s.Datasets[i]
		if d.Inputs == "" {
			continue
		}
		t, err := s.task(*d)
		if err != nil {
			return s, err
		}
		all, err := readConditions(s.path(d.Inputs), t)
		if err != nil {
			return s, fmt.Errorf("public inputs of %s: %w", d.Name, err)
		}
		// Files are often sorted: the first ones would be much alike.
		if d.Conditions, err = eval.Subset(all, conditionsOf); err != nil {
			return s, err
		}
		d.Inputs = ""
	}
	return s, nil
}
