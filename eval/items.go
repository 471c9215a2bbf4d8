package eval

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Item is a question of a test with the answer that is right.
type Item struct {
	Input  string `json:"input"`
	Output string `json:"output"`
	// References are all answers that are right, where there are several; Output is one
	// of them.
	References []string `json:"references,omitempty"`
}

// ItemError reports why a test file cannot be used.
type ItemError struct {
	Path string
	// Record counted from 1, or 0 if it is about the whole file.
	Record int
	// Reason states what is wrong and what to do.
	Reason string
	Err    error
}

func (e *ItemError) Error() string {
	where := e.Path
	if e.Record > 0 {
		where = fmt.Sprintf("%s, record %d", e.Path, e.Record)
	}
	return fmt.Sprintf("test file %s: %s", where, e.Reason)
}

// Unwrap returns the cause, if there is another one.
func (e *ItemError) Unwrap() error { return e.Err }

// ReadItems reads the test of a task: a file of records with the task's columns, in the formats
// that private records are read in.
// Labels are spelled as the task does; one that is not on its list is an error. Test data
// is not private: errors quote labels.
func ReadItems(path string, t prompt.Task) ([]Item, error) {
	t = t.WithDefaults()
	input, output := t.Text, t.Label
	if t.Kind == prompt.Generate {
		input, output = t.Label, t.Text
	}
	var items []Item
	number := 0
	err := ReadRecords(path, []string{input, output}, func(values []string) error {
		number++
		item := Item{Input: values[0], Output: values[1]}
		if !utf8.ValidString(item.Input) || !utf8.ValidString(item.Output) {
			return errors.New("it is not in UTF-8: save the file in that encoding")
		}
		if t.Kind != prompt.Generate {
			canon, known := t.ResolveLabel(strings.TrimSpace(item.Output))
			if !known {
				return fmt.Errorf("its %s is none that the task lists: correct it, or add it to labels or aliases of the task", output)
			}
			item.Output = canon
		}
		if strings.TrimSpace(item.Output) == "" {
			return fmt.Errorf("its %s is empty: an item needs the answer that is right", output)
		}
		items = append(items, item)
		return nil
	})
	var known *ItemError
	switch {
	case errors.As(err, &known):
		return nil, err
	case err != nil:
		return nil, &ItemError{Path: path, Record: max(1, number), Reason: err.Error(), Err: err}
	case len(items) == 0:
		return nil, &ItemError{Path: path, Reason: "it has no records: name a file with some"}
	}
	return items, nil
}

// ReadTexts reads texts of a task with closed labels that are to be labelled, from a file that [ReadItems]
// reads. Labels may be missing: an item without one that the task lists has no Output.
func ReadTexts(path string, t prompt.Task) ([]Item, error) {
	t = t.WithDefaults()
	items, err := readTexts(path, t, t.Text, t.Label)
	if err != nil {
		if without, failed := readTexts(path, t, t.Text); failed == nil {
			items, err = without, nil
		}
	}
	if err == nil && len(items) == 0 {
		err = &ItemError{Path: path, Reason: "it has no records: name a file with some"}
	}
	return items, err
}

func readTexts(path string, t prompt.Task, columns ...string) (items []Item, err error) {
	err = ReadRecords(path, columns, func(values []string) error {
		item := Item{Input: values[0]}
		if len(values) > 1 {
			item.Output = KnownLabel(t, values[1])
		}
		if !utf8.ValidString(item.Input) {
			return errors.New("it is not in UTF-8: save the file in that encoding")
		}
		items = append(items, item)
		return nil
	})
	if known := (*ItemError)(nil); err != nil && !errors.As(err, &known) {
		err = &ItemError{Path: path, Record: max(1, len(items)+1), Reason: err.Error(), Err: err}
	}
	return items, err
}

// KnownLabel is a label as the task spells it; "" if it is none that the task lists.
func KnownLabel(t prompt.Task, label string) string {
	canon, known := t.ResolveLabel(strings.TrimSpace(label))
	if !known {
		return ""
	}
	return canon
}

// subsetSeed is the fixed seed of all permutations of test items.
const subsetSeed = 20240607

// Subset returns n items, or all if n is 0 or larger than their number: the first of a
// permutation that depends on the number of items alone. So all rows of a data set are
// about the same items in the same order, and a smaller test is the beginning of a larger
// one.
func Subset[Item any](items []Item, n int) ([]Item, error) {
	key := noise.KeyFromSeed(subsetSeed)
	order, err := key.Stream("test items").Permutation(len(items))
	if err != nil {
		return nil, err
	}
	if n > 0 && n < len(order) {
		order = order[:n]
	}
	out := make([]Item, len(order))
	for i, j := range order {
		out[i] = items[j]
	}
	return out, nil
}
