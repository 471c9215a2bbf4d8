package plan

import (
	"cmp"

	"github.com/sotto-dp/sotto/schema"
)

// madeUpRows is how many rows [Request.FromSchema] makes up by default.
const madeUpRows = 40

// FromSchema gives the rows of a table, in words, something to choose from: n rows (0: 40) that
// are drawn from the public schema, free, and in words that a small model would write badly.
// Public examples of the user's own take their place. No text is written unless a share of ε
// is for that. Evidence reads rows by the schema.
func (r *Request) FromSchema(of schema.Schema, n int, seed *uint64) {
	c := r.Choosing
	c.Schema = &of
	c.NoGeneration = c.NoGeneration || c.Writing == 0
	if len(c.Sets) > 0 {
		return
	}
	c.MaxShots = 2 * cmp.Or(r.Shots, r.Task.WithDefaults().Limits.Shots) // rows in words are long
	if len(c.Examples) > 0 {
		return
	}
	if seed == nil {
		seed = new(uint64)
	}
	c.Examples = of.RandomExamples(cmp.Or(n, madeUpRows), *seed)
}
