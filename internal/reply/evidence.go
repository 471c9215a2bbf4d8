package reply

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/prompt"
)

// Combined are proportional to p·exp(weight·logs) and sum to one: probabilities of labels by a model, raw
// or calibrated, with evidence of some weight. A label that the model excludes stays excluded.
func Combined(p, logs []float64, weight float64) []float64 {
	// Relative to the best of the labels that are possible, no exponent is too large, and one is 0.
	best := math.Inf(-1)
	for i := range p {
		if p[i] > 0 {
			best = max(best, logs[i])
		}
	}
	sums := make([]float64, len(p))
	for i := range p {
		sums[i] = math.Inf(-1)
		if p[i] > 0 {
			sums[i] = math.Log(p[i]) + weight*(logs[i]-best)
		}
	}
	return Probabilities(sums)
}

// Alone are the probabilities of labels by evidence, without a model.
func Alone(logs []float64) []float64 { return Probabilities(logs) }

// Hinted returns a question with a hint that says what evidence does, as one text within the task's limit:
// it is the question that is cut, not the hint. Without a tokenizer it is whole.
func Hinted(ctx context.Context, tok lm.Tokenizer, t prompt.Task, wording int, input, said string) (string, error) {
	input = Input(t, input)
	hint := prompt.Hint(wording, "", said)
	// A token is a byte or more.
	if limit := t.Limits.InputTokens; tok != nil && len(input)+len(hint)+seam > limit {
		tokens, err := tok.Encode(ctx, hint)
		if err != nil {
			return "", err
		}
		if input, err = Cut(ctx, tok, input, max(0, limit-len(tokens)-seam)); err != nil {
			return "", err
		}
	}
	return prompt.Hint(wording, input, said), nil
}

// longestHints returns a prompt whose examples have hints as long as they get, if it has hints.
func longestHints(t prompt.Task, p prompt.Prompt) prompt.Prompt {
	if p.Evidence.How != prompt.Hinted {
		return p
	}
	labels := slices.SortedFunc(slices.Values(t.Labels), func(a, b string) int { return len(b) - len(a) })
	said := strings.Join(labels[:min(2, len(labels))], " 100%, ") + " 100%"
	examples := make([]prompt.Example, len(p.Examples))
	for i, e := range p.Examples {
		examples[i] = prompt.Example{Input: prompt.Hint(p.Evidence.Wording, e.Input, said), Output: e.Output}
	}
	p.Examples = examples
	return p
}
