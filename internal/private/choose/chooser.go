package choose

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/jury"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/scheme"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
)

// Options of a [Chooser].
type Options struct {
	// Model, Task, Pool, Key and Choice are required. Parts is the number of parts of the
	// pool, 1 unless told; records are drawn from all of them alike.
	Model  lm.Trusted
	Task   prompt.Task
	Pool   draw.Pool
	Parts  int
	Key    noise.Key
	Choice Choice
	// PassTokens and Prompts are as in package jury; 0 takes the default.
	PassTokens, Prompts int
	// Usage, if set, is told what the model has done so far in a round. It depends on the
	// records that were drawn: it is not to be published.
	Usage func(lm.Usage)
}

// Chooser holds the rounds of a choice. It is for one goroutine at a time.
type Chooser struct {
	Options
	jury     *jury.Jury
	drawer   *draw.Drawer
	selector *noise.Selector
	// bound are the candidates that a round was asked about, by their hash.
	bound map[int64][sha256.Size]byte
}

// Outcome of a round.
type Outcome struct {
	// Winner is the index of the chosen candidate.
	Winner int
	// Event is what the round cost at most.
	Event privacy.Event
}

// New checks the options. No record is read.
func New(ctx context.Context, o Options) (*Chooser, error) {
	if err := o.Choice.Check(); err != nil {
		return nil, err
	}
	if o.Pool == nil {
		return nil, errors.New("there are no records to choose by")
	}
	if err := draw.Genuine(o.Pool); err != nil {
		return nil, err
	}
	if o.Parts = max(1, o.Parts); o.Parts > 1 && o.Choice.Draw.Kind == scheme.FixedSize {
		return nil, errors.New("draws of a fixed size are from all records together, and these are in parts by label: an exchanged record may be in another part")
	}
	c := &Chooser{Options: o, drawer: draw.NewDrawer(o.Pool, o.Key.Derive("choose")), bound: map[int64][sha256.Size]byte{}}
	var err error
	if c.jury, err = jury.New(ctx, jury.Options{
		Model: o.Model, Task: o.Task, Utility: o.Choice.Utility, PassTokens: o.PassTokens, Prompts: o.Prompts, Usage: o.Usage,
	}); err != nil {
		return nil, err
	}
	grid, err := noise.NewGrid(jury.Fine)
	if err != nil {
		return nil, err
	}
	c.selector, err = noise.NewSelector(noise.SelectorOptions{Grid: grid, Rate: o.Choice.rate()})
	return c, err
}

// Round chooses one of the candidates, all of which are public or follow from earlier
// winners. Rounds are counted from 0 and have a draw each. Asked again for a round, after
// an error or for the same candidates, it gives the same outcome where the model repeats
// itself; other candidates are refused.
func (c *Chooser) Round(ctx context.Context, round int64, candidates []prompt.Prompt) (Outcome, error) {
	if err := c.bind(round, candidates); err != nil {
		return Outcome{}, err
	}
	records, err := c.records(ctx, round)
	if err != nil {
		return Outcome{}, err
	}
	verdicts, err := c.jury.Judge(ctx, candidates, records)
	if err != nil {
		return Outcome{}, err
	}
	winner, err := c.selector.Softmax(c.Key.Stream("choice", uint64(round)), sums(verdicts))
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{winner, privacy.Canonical(c.Choice.Draw.Event(c.Choice.Step(), 1))}, nil
}

// bind makes sure that a round is paid for, and that it is asked about one list of
// candidates only.
func (c *Chooser) bind(round int64, candidates []prompt.Prompt) error {
	if round < 0 || round >= c.Choice.Rounds {
		return fmt.Errorf("round %d is not one of the %d that are paid for", round+1, c.Choice.Rounds)
	}
	if len(candidates) == 0 {
		return errors.New("there are no candidates to choose from")
	}
	data, err := json.Marshal(candidates)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if known, ok := c.bound[round]; ok && known != sum {
		return fmt.Errorf("round %d was asked about other candidates before: each round looks once", round+1)
	}
	c.bound[round] = sum
	return nil
}

// records are those of a round.
func (c *Chooser) records(ctx context.Context, round int64) ([]seal.Record, error) {
	var refs []seal.Ref
	for part := range c.Parts {
		// Of all rounds so far: a draw of a step has streams of its own.
		samples, err := c.drawer.Draw(c.Choice.Draw, draw.Text{Index: uint64(part), Part: part}, int(round)+1)
		if err != nil {
			return nil, err
		}
		for _, p := range samples[round].Prompts {
			refs = append(refs, p...)
		}
	}
	return c.drawer.Fetch(ctx, refs)
}

// sums adds up what records said about each candidate. Nothing is divided by their number,
// which is private.
func sums(verdicts [][]int64) []int64 {
	out := make([]int64, len(verdicts))
	for i, of := range verdicts {
		for _, g := range of {
			out[i] += g
		}
	}
	return out
}
