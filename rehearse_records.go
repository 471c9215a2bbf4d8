package sotto

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/prompt"
)

// standIn finds records, holds some of them out, and writes the others in place of the
// private ones.
func (r *rehearsing) standIn(ctx context.Context) error {
	all := r.StandIn
	if r.result.Invented = len(all) == 0; r.result.Invented {
		var err error
		if all, err = r.inventAll(ctx); err != nil {
			return err
		}
	}
	if err := r.split(all); err != nil {
		return err
	}
	if r.result.Invented {
		r.own = r.records // in the model's own words as they are
	}
	return r.write()
}

// inventAll has the model write records, as many as there is time for unless their number is given.
func (r *rehearsing) inventAll(ctx context.Context) (all []prompt.Example, err error) {
	if r.asked.Invent > 0 {
		r.note("the model invents %d records, which stand in for yours", r.Invent)
		return r.invent(ctx, "invented", 1, r.Invent)
	}
	r.note("the model invents up to %d records, which stand in for yours", r.Invent)
	until := time.Now().Add(time.Duration(inventing * float64(r.whole())))
	least := max(3*leastStandIn, 3*len(r.Request.Task.Labels))
	for at := uint64(0); len(all) < r.Invent && (len(all) < least || time.Now().Before(until)) && at < inventedRuns; at++ {
		some, err := r.invent(ctx, fmt.Sprintf("invented %d", at), inventedRuns+at, min(max(inventedAtOnce, len(r.Request.Task.Labels)), r.Invent-len(all)))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

const (
	// inventedAtOnce is how many records are invented before the clock is looked at.
	inventedAtOnce = 20
	// inventedRuns bounds how often, and is apart from the numbers of other runs.
	inventedRuns = 1000
)

// invent has the model write examples by itself, and drops what it wrote twice.
func (r *rehearsing) invent(ctx context.Context, name string, run uint64, n int) ([]prompt.Example, error) {
	request := Request{
		Task: r.Request.Task, Method: "public", Shots: n, Tokens: r.Request.Tokens, Conditions: r.Request.Conditions, Rules: r.Request.Rules,
		Size: int64(max(1, len(r.Request.Task.Labels))),
	}
	done, err := r.client.Synthesize(ctx, r.alone(name, run, request))
	if err != nil {
		return nil, alsoGone(err)
	}
	var out []prompt.Example
	for _, e := range done.Examples {
		out = append(out, prompt.Example(e))
	}
	return out, nil
}

// split holds records out. None of them is among the others, in any spelling of blanks.
func (r *rehearsing) split(all []prompt.Example) error {
	order, err := r.key.Stream("held out").Permutation(len(all))
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	var different []prompt.Example
	for _, i := range order {
		e := all[i]
		text := strings.Join(strings.Fields(e.Input), " ")
		if canon, known := r.Request.Task.ResolveLabel(strings.TrimSpace(e.Output)); known {
			e.Output = canon
		}
		usable := !strings.ContainsRune(e.Input+e.Output, 0) && (prompt.Prompt{Examples: []prompt.Example{e}}).Check(r.Request.Task) == nil
		if usable && !seen[text] {
			seen[text] = true
			different = append(different, e)
		}
	}
	if len(different) < leastStandIn {
		return wrong("%d different records are too few to stand in for others and to measure on: at least %d are needed", len(different), leastStandIn)
	}
	held := min(r.Items, len(different)/3)
	r.held, r.records = different[:held], different[held:]
	r.result.Records, r.result.Items = len(different), held
	return nil
}

// write writes the records, again and again up to the declared size: so the real run's rates
// draw as many of them, and its noise is what the real run's is. Each copy is a unit of its
// own.
func (r *rehearsing) write() (err error) {
	f, err := os.OpenFile(r.path("records.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the stand-in records: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	line := r.encoder(out)
	copies := func(of []prompt.Example, n int64) error {
		for i := range n {
			if err := line(of[i%int64(len(of))]); err != nil {
				return fmt.Errorf("write the stand-in records: %w", err)
			}
		}
		return nil
	}
	switch {
	case r.Request.Count: // counted as they are
		err = copies(r.records, int64(len(r.records)))
	case len(r.Request.Sizes) > 0 && !r.Request.Task.Open():
		for _, part := range r.real.Parts {
			of := withLabel(r.records, part.Label)
			if len(of) == 0 {
				return wrong("no stand-in record has the label %q, of which %d are declared: give a file that has some", part.Label, part.Size)
			}
			if err = copies(of, part.Size); err != nil {
				return err
			}
		}
	default:
		err = copies(r.records, max(r.real.Units(), r.Request.Size))
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// encoder writes a record a line, as the task calls its columns.
func (r *rehearsing) encoder(out *bufio.Writer) func(prompt.Example) error {
	t := r.Request.Task.WithDefaults()
	input, output := t.Text, t.Label
	if t.Kind == prompt.Generate {
		input, output = output, input
	}
	unit := r.Request.Unit.Column()
	e := json.NewEncoder(out)
	return func(x prompt.Example) error {
		r.result.Copies++
		row := map[string]string{input: x.Input, output: x.Output}
		if unit != "" {
			row[unit] = fmt.Sprint("stand-in ", r.result.Copies)
		}
		return e.Encode(row)
	}
}

func withLabel(list []prompt.Example, label string) []prompt.Example {
	return slices.DeleteFunc(slices.Clone(list), func(e prompt.Example) bool { return e.Output != label })
}
