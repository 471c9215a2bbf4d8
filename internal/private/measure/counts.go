package measure

import (
	"errors"

	"github.com/sotto-dp/sotto/internal/private/internal/grader"
)

// Count is how many drawn records a prompt is right and wrong for, with noise: either may be
// below 0. Of grades in between it is their sum, and that of what they lack to one.
type Count struct {
	Right int64 `json:"right"`
	Wrong int64 `json:"wrong"`
}

// Pair are two prompts on the same records, with noise on each number.
type Pair struct {
	Both    int64 `json:"both"`
	First   int64 `json:"only_first"`
	Second  int64 `json:"only_second"`
	Neither int64 `json:"neither"`
}

// Counts returns the counts of the two prompts. Each number has the noise of two cells.
func (p Pair) Counts() [2]Count {
	return [2]Count{{p.Both + p.First, p.Second + p.Neither}, {p.Both + p.Second, p.First + p.Neither}}
}

// tables count drawn records by what they said of prompts, in steps of grades. What a
// record adds to a table is grader.One in all.
func tables(grades [][]int64) [][]int64 {
	if len(grades) == 2 {
		table := make([]int64, 4)
		for r := range grades[0] {
			f, g := clamp(grades[0][r]), clamp(grades[1][r])
			table[0] += min(f, g)
			table[1] += max(0, f-g)
			table[2] += max(0, g-f)
			table[3] += grader.One - max(f, g)
		}
		return [][]int64{table}
	}
	out := make([][]int64, len(grades))
	for p, of := range grades {
		table := make([]int64, 2)
		for _, g := range of {
			table[0] += clamp(g)
			table[1] += grader.One - clamp(g)
		}
		out[p] = table
	}
	return out
}

// byLabel counts drawn records by label, in steps of grades. A record adds grader.One to one cell, or nothing if its
// label is not on the list.
func byLabel(labels []int, n int) []int64 {
	table := make([]int64, n)
	for _, l := range labels {
		if l >= 0 && l < n {
			table[l] += grader.One
		}
	}
	return table
}

// clamp keeps a record from counting more than once.
func clamp(g int64) int64 { return min(max(g, 0), grader.One) }

// whole rounds steps to the nearest whole number.
func whole(steps int64) int64 { return (steps + grader.One/2) >> grader.Fine }

// read makes the outcome of tables that have their noise, the last of which is of labels if there are any.
func read(tables [][]int64, prompts, labels int) (Outcome, error) {
	for _, table := range tables {
		for i := range table {
			table[i] = whole(table[i])
		}
	}
	var out Outcome
	if last := len(tables) - 1; labels > 0 {
		if last < 0 || len(tables[last]) != labels {
			return Outcome{}, errors.New("there is no table of the labels: this is an internal error")
		}
		tables, out.Labels = tables[:last], tables[last]
	}
	if prompts == 2 && len(tables) == 1 && len(tables[0]) == 4 {
		t := tables[0]
		out.Pair = &Pair{t[0], t[1], t[2], t[3]}
		each := out.Pair.Counts()
		out.Counts = each[:]
		return out, nil
	}
	if len(tables) != prompts {
		return Outcome{}, errors.New("there are not as many tables as prompts: this is an internal error")
	}
	for _, t := range tables {
		out.Counts = append(out.Counts, Count{t[0], t[1]})
	}
	return out, nil
}
