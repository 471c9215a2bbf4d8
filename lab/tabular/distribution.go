package tabular

import (
	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// Distribution is learned from rows that are protected. Rows are drawn from it at no cost.
type Distribution struct {
	// Guarantee is nil without noise.
	Guarantee *Guarantee
	// Estimate is computed from perturbed rows; nil for a profile.
	Estimate *reconstruct.Estimate

	schema  schema.Schema
	sampler *reconstruct.Sampler
	key     noise.Key
}

// Demos draws demonstrations for each of n questions. Those of a question are the same
// however many are asked, and fewer demonstrations are the first of more.
func (d *Distribution) Demos(n, shots int) [][]prompt.Example {
	words, out := d.schema.Wording(), make([][]prompt.Example, n)
	for i := range out {
		out[i] = demos(words, d.sampler.Rows(shots, d.key.Stream("demonstrations", uint64(i))))
	}
	return out
}

// Near draws demonstrations that resemble each of the questions, in all but the label; see
// [reconstruct.Sampler.Near]. Those of a question depend on the seed, the question and its place.
func (d *Distribution) Near(questions []schema.Row, mismatch float64, shots int) ([][]prompt.Example, error) {
	words, out := d.schema.Wording(), make([][]prompt.Example, len(questions))
	for i, q := range questions {
		n := reconstruct.Near{Query: q, Free: []int{d.schema.LabelColumn()}, Mismatch: mismatch}
		rows, err := d.sampler.Near(n, shots, d.key.Stream("demonstrations near", uint64(i)))
		if err != nil {
			return nil, err
		}
		out[i] = demos(words, rows)
	}
	return out, nil
}
