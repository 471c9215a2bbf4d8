package main

import (
	"github.com/sotto-dp/sotto/internal/plan"
)

// tablePool is how many made-up rows a pool has, unless told.
const tablePool = 40

// fromSchema gives the records of a table something to choose from: n rows (0: tablePool)
// that are drawn from the public schema, free, and in words that a small model would write
// badly. Public examples of the user's own take their place. No text is written unless a
// share of ε is for that.
func fromSchema(task string, q *plan.Request, n int, seed uint64) error {
	of, err := tableOf(task)
	if err != nil || of == nil {
		return err
	}
	c := q.Choosing
	c.Bare = c.Bare || c.Writing == 0
	if len(c.Sets) > 0 {
		return nil
	}
	shots := q.Task.WithDefaults().Limits.Shots
	if q.Shots > 0 {
		shots = q.Shots
	}
	c.Most = 2 * shots // rows in words are long
	if len(c.Examples) > 0 {
		return nil
	}
	if n == 0 {
		n = tablePool
	}
	c.Examples = of.RandomExamples(n, seed)
	return nil
}
