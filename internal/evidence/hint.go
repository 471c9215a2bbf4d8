package evidence

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/sotto-dp/sotto/prompt"
)

// Said is what a hint says: the most likely label and its share, and the second if it has a tenth.
func (e *Evidence) Said(logs []float64) string {
	first, second := 0, -1
	for l := range logs {
		if logs[l] > logs[first] {
			first = l
		}
	}
	for l := range logs {
		if l != first && (second < 0 || logs[l] > logs[second]) {
			second = l
		}
	}
	said := []string{e.share(first, logs)}
	if math.Exp(logs[second]) >= 0.1 {
		said = append(said, e.share(second, logs))
	}
	return strings.Join(said, ", ")
}

func (e *Evidence) share(label int, logs []float64) string {
	return fmt.Sprintf("%s %.0f%%", e.Labels[label], 100*math.Exp(logs[label]))
}

// Hinted returns texts with hints of a wording.
func (r *Reader) Hinted(ctx context.Context, wording int, texts []string) ([]string, error) {
	all, err := r.Texts(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(texts))
	for i, logs := range all {
		out[i] = prompt.Hint(wording, texts[i], r.Said(logs))
	}
	return out, nil
}

// Examples returns examples with hints, as their questions have.
func (r *Reader) Examples(ctx context.Context, wording int, examples []prompt.Example) ([]prompt.Example, error) {
	texts := make([]string, len(examples))
	for i, e := range examples {
		texts[i] = e.Input
	}
	hinted, err := r.Hinted(ctx, wording, texts)
	if err != nil {
		return nil, err
	}
	out := make([]prompt.Example, len(examples))
	for i, e := range examples {
		out[i] = prompt.Example{Input: hinted[i], Output: e.Output}
	}
	return out, nil
}
