package result

import (
	"cmp"
	"math"
	"slices"
)

// Tidy sorts rows for reading and keeps one row per key: the last, which is the newest in
// an appended file.
func Tidy(rows []Row) []Row {
	last := map[string]int{}
	for i, r := range rows {
		last[r.Key] = i
	}
	out := make([]Row, 0, len(last))
	for i, r := range rows {
		if last[r.Key] == i {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, compareRows)
	return out
}

func compareRows(a, b Row) int {
	return cmp.Or(
		cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Answerer, b.Answerer),
		cmp.Compare(a.Name, b.Name), cmp.Compare(place(a.Epsilon), place(b.Epsilon)), cmp.Compare(a.Shots, b.Shots), cmp.Compare(a.Queries, b.Queries),
		boolean(a.Calibrated)-boolean(b.Calibrated), cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Key, b.Key),
	)
}

// place returns the position of an ε in an order: rows without protection come last.
func place(epsilon *float64) float64 {
	if epsilon == nil {
		return math.Inf(1)
	}
	return *epsilon
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
