package main

import (
	"fmt"
	"math"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/ui"
)

// synthChosen is the prompt that records chose, and how: as planned, whoever was drawn.
type synthChosen struct {
	Rounds      int64  `json:"rounds"`
	Records     int64  `json:"records"`
	Instruction string `json:"instruction,omitempty"`
	Calibrated  bool   `json:"calibrated"`
	PoolModel   string `json:"pool_model,omitempty"`
}

func newSynthChosen(d *sotto.Run) *synthChosen {
	c := d.Plan.Choose
	if c == nil || d.Prompt == nil {
		return nil
	}
	var n int64
	for _, part := range d.Plan.Parts {
		n += part.Size
	}
	out := &synthChosen{Rounds: c.Rounds, Records: int64(math.Round(c.Draw.Expected(n))), Instruction: d.Prompt.Instruction, Calibrated: d.Prompt.Calibrated}
	if c.Made != nil {
		out.PoolModel = c.Made.Model
	}
	return out
}

// words say how the examples of a prompt were chosen.
func (c *synthChosen) words(examples int) string {
	if c == nil {
		return ""
	}
	said := fmt.Sprintf("%s, in %s of about %s records", examplesInWords(examples), ui.Counted(int(c.Rounds), "round"), ui.Thousands(c.Records))
	if c.PoolModel != "" {
		said += "; from texts by " + ui.Visible(c.PoolModel) + ", which saw no record"
	}
	if c.Calibrated {
		said += "; labels are read off calibrated, as \"sotto eval\" does"
	}
	return said
}

// instruction is the one that was chosen in place of the task's own.
func (c *synthChosen) instruction() string {
	if c == nil {
		return ""
	}
	return ui.Visible(c.Instruction)
}
