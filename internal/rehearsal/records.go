package rehearsal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// MinRecords is how many different records can stand in for others at all.
const MinRecords = 12

// Split holds up to some records out, a third of all at most, and returns the others too. No record is in both, in any
// spelling of blanks.
func Split(key noise.Key, t prompt.Task, all []prompt.Example, items int) (records, held []prompt.Example, err error) {
	order, err := key.Stream("held out").Permutation(len(all))
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	var different []prompt.Example
	for _, i := range order {
		e := all[i]
		text := strings.Join(strings.Fields(e.Input), " ")
		if canon, known := t.ResolveLabel(strings.TrimSpace(e.Output)); known {
			e.Output = canon
		}
		usable := !strings.ContainsRune(e.Input+e.Output, 0) && (prompt.Prompt{Examples: []prompt.Example{e}}).Check(t) == nil
		if usable && !seen[text] {
			seen[text] = true
			different = append(different, e)
		}
	}
	if len(different) < MinRecords {
		return nil, nil, method.Wrong("%d different records are too few to stand in for others and to measure on: at least %d are needed", len(different), MinRecords)
	}
	n := min(items, len(different)/3)
	return different[n:], different[:n], nil
}

// Source writes records again and again up to the size that a plan declares: so the real run's rates draw as many of
// them, and its noise is what the real run's is. Each copy is a unit of its own.
type Source struct {
	Task prompt.Task
	Unit privacy.Unit
	// Plan of the real run. Size was declared. ByLabel: the size of each label was. Counted: none was.
	Plan             plan.Plan
	Size             int64
	ByLabel, Counted bool
}

// Write writes the file, and returns how many lines it has.
func (s Source) Write(path string, records []prompt.Example) (n int64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, fmt.Errorf("write the stand-in records: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	line := s.encoder(out)
	copies := func(of []prompt.Example, times int64) error {
		for i := range times {
			if err := line(of[i%int64(len(of))], n+1); err != nil {
				return fmt.Errorf("write the stand-in records: %w", err)
			}
			n++
		}
		return nil
	}
	switch {
	case s.Counted: // as they are
		err = copies(records, int64(len(records)))
	case s.ByLabel && !s.Task.Open():
		for _, part := range s.Plan.Parts {
			of := slices.DeleteFunc(slices.Clone(records), func(e prompt.Example) bool { return e.Output != part.Label })
			if len(of) == 0 {
				return n, method.Wrong("no stand-in record has the label %q, of which %d are declared: give a file that has some", part.Label, part.Size)
			}
			if err = copies(of, part.Size); err != nil {
				return n, err
			}
		}
	default:
		err = copies(records, max(s.Plan.Units(), s.Size))
	}
	if err != nil {
		return n, err
	}
	return n, out.Flush()
}

// encoder writes a record a line, as the task calls its columns.
func (s Source) encoder(out io.Writer) func(e prompt.Example, number int64) error {
	t := s.Task.WithDefaults()
	input, output := t.Text, t.Label
	if t.Kind == prompt.Generate {
		input, output = output, input
	}
	unit := s.Unit.Column()
	line := json.NewEncoder(out)
	return func(e prompt.Example, number int64) error {
		row := map[string]string{input: e.Input, output: e.Output}
		if unit != "" {
			row[unit] = fmt.Sprint("stand-in ", number)
		}
		return line.Encode(row)
	}
}
