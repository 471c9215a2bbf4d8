package tabular

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/reconstruct"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/prompt"
	"github.com/sotto-dp/sotto/schema"
)

// RealNear takes training rows as they are that resemble each of the test rows: different
// ones, drawn with chances in proportion to mismatch to their distance, those that are
// nearest last. In a discrete column, what differs is at a distance of 1; a number is at a
// quarter of how many standard deviations lie between, or 1 (Wilson, Martinez 1997).
func RealNear(t *Table, mismatch float64, shots int, seed uint64) ([][]prompt.Example, error) {
	if shots > len(t.Train) {
		return nil, fmt.Errorf("%d demonstrations cannot be drawn from %d rows: ask for fewer", shots, len(t.Train))
	}
	if !(mismatch >= reconstruct.MinMismatch && mismatch <= 1) {
		return nil, fmt.Errorf("a mismatch of %v: it must be from %v to 1", mismatch, float64(reconstruct.MinMismatch))
	}
	scale := spreads(t)
	key, words := noise.KeyFromSeed(seed), t.Schema.Wording()
	out := make([][]prompt.Example, len(t.Test))
	for i, q := range t.Test {
		stream := key.Stream("rows near", uint64(i))
		ranked := make([]neighbour, 0, shots+1)
		for _, row := range t.Train {
			d := distance(q, row, scale)
			// The largest of log(weight) + Gumbel noise are a draw without replacement
			// (Efraimidis, Spirakis 2006).
			u := (float64(stream.Uint64()>>11) + 0.5) * 0x1p-53
			n := neighbour{row, d, d*math.Log(mismatch) - math.Log(-math.Log(u))}
			if len(ranked) == shots && n.rank <= ranked[shots-1].rank {
				continue
			}
			at, _ := slices.BinarySearchFunc(ranked, n, func(a, b neighbour) int { return cmp.Compare(b.rank, a.rank) })
			ranked = slices.Insert(ranked, at, n)
			ranked = ranked[:min(shots, len(ranked))]
		}
		slices.SortStableFunc(ranked, func(a, b neighbour) int { return cmp.Compare(b.distance, a.distance) })
		var rows []schema.Row
		for _, n := range ranked {
			rows = append(rows, n.row)
		}
		out[i] = demos(words, rows)
	}
	return out, nil
}

// neighbour is a row near to a question.
type neighbour struct {
	row            schema.Row
	distance, rank float64
}

// spreads returns what numbers are measured by: four standard deviations; 0 of what has
// none, and infinite for the label, which is not compared.
func spreads(t *Table) []float64 {
	out := make([]float64, len(t.Schema.Columns))
	for c := range out {
		if t.Train[0][c].Discrete {
			continue
		}
		var x []float64
		for _, row := range t.Train {
			x = append(x, row[c].Number)
		}
		out[c] = 4 * stat.Std(x)
	}
	out[t.Schema.LabelColumn()] = math.Inf(1)
	return out
}

func distance(a, b schema.Row, scale []float64) (sum float64) {
	for c := range a {
		switch {
		case math.IsInf(scale[c], 1) || a[c] == b[c]:
		case a[c].Discrete || scale[c] == 0:
			sum++
		default:
			sum += min(1, math.Abs(a[c].Number-b[c].Number)/scale[c])
		}
	}
	return sum
}
