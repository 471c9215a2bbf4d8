package measure_test

import (
	"testing"

	"github.com/sotto-dp/sotto/internal/private/measure"
	"github.com/sotto-dp/sotto/prompt"
)

// TestPromptsHaveNoiseOfTheirOwn: of prompts for which records say the same, the numbers that
// come out differ, cell by cell: noise that two of them shared would cancel in their difference.
func TestPromptsHaveNoiseOfTheirOwn(t *testing.T) {
	m := nearly(3, measure.Right)
	m.Scale = 1e6
	for seed := range uint64(20) {
		out := counts(t, options(t, m, seed), prompt.Prompt{}, prompt.Prompt{}, prompt.Prompt{})
		seen := map[int64]bool{}
		for _, c := range out.Counts {
			seen[c.Right], seen[c.Wrong] = true, true
		}
		if len(seen) < 6 { // two of six are the same about once in 10^5 times
			t.Fatalf("of three prompts for which all say the same, the counts are %+v", out.Counts)
		}
	}
}
