package suite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sotto-dp/sotto/eval"
	"github.com/sotto-dp/sotto/prompt"
)

// GroupByInput merges items with the same question into the first of them. Output stays the
// first item's answer; References has the answers of all.
func GroupByInput(items []eval.Item) []eval.Item {
	at := map[string]int{}
	var out []eval.Item
	for _, item := range items {
		i, there := at[item.Input]
		if !there {
			at[item.Input] = len(out)
			out = append(out, eval.Item{Input: item.Input, Output: item.Output, References: []string{item.Output}})
			continue
		}
		if !slices.Contains(out[i].References, item.Output) {
			out[i].References = append(out[i].References, item.Output)
		}
	}
	return out
}

// readConditions reads what texts are to be written for from a public file of records, in
// any format that [eval.ReadItems] reads: the inputs of a generation task, or labels of an open
// list. Each comes once, in the order of the file.
func readConditions(path string, t prompt.Task) ([]string, error) {
	t = t.WithDefaults()
	if !t.Open() {
		return nil, &eval.ItemError{Path: path, Reason: "the task has a closed list of labels, which texts are written for: leave the file out"}
	}
	var out []string
	seen := map[string]bool{}
	err := eval.ReadRecords(path, []string{t.Label}, func(values []string) error {
		value := strings.TrimSpace(values[0])
		if !utf8.ValidString(value) {
			return errors.New("it is not in UTF-8: save the file in that encoding")
		}
		if value != "" && !seen[value] {
			seen[value] = true
			out = append(out, value)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = &eval.ItemError{Path: path, Reason: fmt.Sprintf("no record has the column %s filled in: name a file with some", t.Label)}
	}
	return out, err
}
