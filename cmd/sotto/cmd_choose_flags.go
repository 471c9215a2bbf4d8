package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/plan"
	"github.com/sotto-dp/sotto/internal/private/choose"
	"github.com/sotto-dp/sotto/internal/search"
	"github.com/sotto-dp/sotto/prompt"
)

// methodChoose is how --method calls having the records choose.
const methodChoose = plan.Chooses

// chooseFlags say how records choose a prompt.
type chooseFlags struct {
	pool         int
	examples     []string
	sets         []string
	bare         bool
	instructions []string
	rounds       int64
	records      int64
	utility      string
	reading      string
	writing      number
	measuring    number
	noMeasure    bool
	time         time.Duration
	poolFlags
}

func (c *chooseFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&c.time, "time", 0, "choose: about how long the records may take to choose, such as 5m; the model's speed is measured (default: what suits the default model for 5 to 8 minutes)")
	f.StringArrayVar(&c.examples, "examples", nil, "choose: public examples of your own in `FILE`, which prompts may be made from too; may be repeated")
	f.StringArrayVar(&c.instructions, "instruction", nil, "choose: an instruction to try beside the task's own; may be repeated")
	f.Int64Var(&c.rounds, "rounds", 0, "choose: in how many rounds (default: what time and ε allow, up to 25)")
	f.Int64Var(&c.records, "records", 0, "choose: how many records judge in a round, on average (default: what time allows, up to 400)")
	f.StringVar(&c.utility, "utility", "", "choose: what a record says of a prompt: hard (is the answer right?), soft (how probable is it?) for outputs written (how probable are its tokens?) or rouge (how much of it does the model write?) (default hard; rouge for generate)")
	complete(cmd, "utility", string(choose.Hard), string(choose.Soft), string(choose.Written), string(choose.Rouge))
	f.StringVar(&c.reading, "reading", "", "choose: how labels are read off answers: raw, as every client can, or calibrated, as \"sotto eval\" and servers that tell probabilities can (default: what is better)")
	complete(cmd, "reading", string(search.Raw), string(search.Calibrated))
	c.poolFlags.add(cmd)
}

// addMeasure adds flags of the number in the end.
func (c *chooseFlags) addMeasure(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&c.measuring, "measuring", "choose: the share of ε for saying in the end on how many records the model is right (default 0.05)")
	f.BoolVar(&c.noMeasure, "no-measure", false, "choose: do not say in the end on how many records the model is right")
}

// addPool adds flags of what is written to choose from.
func (c *chooseFlags) addPool(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&c.pool, "pool", 0, "choose: how many texts to write and choose from (default 24, more for many labels)")
	f.Var(&c.writing, "writing", "choose: the share of ε for writing the texts from the records, by clipped; 0 has the model write them by itself (default 0.5, where that leaves records something to say)")
}

// choosing fills in the request.
func (c *chooseFlags) choosing(q *plan.Request, given func(flag string) bool) error {
	if err := positive(given, map[string]float64{"pool": float64(c.pool), "rounds": float64(c.rounds), "records": float64(c.records), "time": c.time.Seconds()}); err != nil {
		return err
	}
	q.Method = ""
	writing := c.writing.value
	if c.writing.set && writing == 0 {
		writing = -1
	}
	measuring := c.measuring.value
	switch {
	case c.noMeasure && c.measuring.set:
		return usage("--measuring and --no-measure exclude each other")
	case c.noMeasure || c.measuring.set && measuring == 0:
		measuring = -1
	}
	q.Choosing = &plan.Choosing{
		Measuring: measuring,
		Pool:      c.pool, Writing: writing, Rounds: c.rounds, Records: c.records,
		Utility: choose.Utility(c.utility), Reading: search.Reading(c.reading), Instructions: c.instructions,
	}
	q.Choosing.Bare = c.bare
	for _, path := range c.sets {
		list, err := readExamples(path, q.Task)
		if err != nil {
			return err
		}
		q.Choosing.Sets = append(q.Choosing.Sets, list)
	}
	for _, path := range c.examples {
		list, err := readExamples(path, q.Task)
		if err != nil {
			return err
		}
		q.Choosing.Examples = append(q.Choosing.Examples, list...)
	}
	return nil
}

// readExamples reads public examples of a task.
func readExamples(path string, t prompt.Task) ([]prompt.Example, error) {
	set, err := worth.ReadSet(path, t)
	if err != nil {
		return nil, asUsage[*worth.InputError](err)
	}
	if set.NotPrivate {
		return nil, usage("%s says that it is not private: examples to choose from are public, and those may not be", path)
	}
	return set.Examples, nil
}
