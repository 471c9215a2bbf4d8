package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/prompt"
)

// vary has texts written like the examples of the last winner, for the next round to try.
//
// A winner is released, so that what follows from it costs nothing, no matter who writes, and the
// rounds cost the same however many texts there are. What came is in the journal before any
// record is asked about it: a run that continues has the same candidates, also where the author
// would write something else the next time. An author that fails is no reason to end a run
// that is paid for: then there are no such texts.
func (r *runner) vary(ctx context.Context) error {
	c, at := r.plan.Choose, int64(len(r.exec.progress.winners))
	if _, done := r.exec.progress.varied[at]; done || c.Vary < 1 || !c.Schedule().Varies(at) || r.exec.progress.looking {
		return nil
	}
	list, err := r.varyWinner(ctx, at)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		list = nil
		r.exec.report(env.Progress{Kind: env.Noted, Message: fmt.Sprintf("after round %d no texts like the winner's came: %v", at, err)})
	}
	return r.exec.note(entry{State: varied, Round: at, Varied: list})
}

// varyWinner asks for texts like the winner's, for one label after another.
func (r *runner) varyWinner(ctx context.Context, at int64) ([]prompt.Example, error) {
	c := r.plan.Choose
	kinds := byLabel(r.prompt().Examples, r.plan.Task)
	if len(kinds) == 0 {
		return nil, nil
	}
	wanted := make([]int, len(kinds))
	for i := range c.Vary {
		wanted[(int(at-1)*c.Vary+i)%len(kinds)]++
	}
	var out []prompt.Example
	for i, n := range wanted {
		if n == 0 {
			continue
		}
		const shown = 4
		list, err := r.options.Vary(ctx, at, kinds[i][:min(shown, len(kinds[i]))], n)
		if err != nil {
			return nil, err
		}
		for _, e := range list[:min(n, len(list))] {
			if (prompt.Prompt{Examples: []prompt.Example{e}}).Check(r.plan.Task) == nil {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// byLabel sorts examples by a closed list of labels, in its order; all are together where
// there is none.
func byLabel(list []prompt.Example, t prompt.Task) (out [][]prompt.Example) {
	if len(list) == 0 {
		return nil
	}
	if t.Open() || t.Kind == prompt.Generate {
		return [][]prompt.Example{list}
	}
	for _, l := range t.Labels {
		var of []prompt.Example
		for _, e := range list {
			if is, _ := t.ResolveLabel(e.Output); is == l {
				of = append(of, e)
			}
		}
		if len(of) > 0 {
			out = append(out, of)
		}
	}
	return out
}

// variations are texts like those of winners, in the order of rounds.
func (r *runner) variations() (out [][]prompt.Example) {
	if r.exec.progress == nil {
		return nil
	}
	rounds := make([]int64, 0, len(r.exec.progress.varied))
	for at := range r.exec.progress.varied {
		rounds = append(rounds, at)
	}
	slices.Sort(rounds)
	for _, at := range rounds {
		out = append(out, r.exec.progress.varied[at])
	}
	return out
}

// invents reports whether the search depends on what is not in the key.
func (r *runner) invents() bool {
	return r.plan.Choose != nil && r.plan.Choose.Vary > 0 && !r.options.Repeats
}

// authors states in a certificate who wrote what prompts are made from, except for this run's own
// model. The claim needs nothing of them.
func (r *runner) authors() string {
	c := r.plan.Choose
	if c == nil || c.Made == nil {
		return ""
	}
	saw := "the task"
	if c.Vary > 0 {
		saw += " and what the records had chosen before"
	}
	return fmt.Sprintf("Prompts to choose from were made from what the model %s wrote, too. It was shown %s, and no record; nothing else is assumed of it.", c.Made.Model, saw)
}
