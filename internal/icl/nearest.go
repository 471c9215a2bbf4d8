package icl

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/evidence/nearest"
	"github.com/sotto-dp/sotto/prompt"
)

// near picks the demonstrations of each question; nil if all have the same.
func (o Options) near(ctx context.Context, demos []prompt.Example) (*nearest.Picker, error) {
	if !o.Nearest.Used() {
		return nil, nil
	}
	return nearest.Open(ctx, prompt.Prompt{Examples: demos, Nearest: o.Nearest}, o.Encoder)
}

// picks are the demonstrations of each question, nil where all have the same.
func picks(ctx context.Context, near *nearest.Picker, inputs []string) ([][]prompt.Example, error) {
	if near == nil {
		return make([][]prompt.Example, len(inputs)), nil
	}
	return near.Pick(ctx, inputs)
}

// describeNear adds to how answers are found that each question has demonstrations of its own.
func (o Options) describeNear(how string) string {
	if !o.Nearest.Used() {
		return how
	}
	return how + fmt.Sprintf(", with the %d demonstrations nearest to each question", o.Nearest.Examples)
}
