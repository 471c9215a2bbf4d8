package global

import "github.com/sotto-dp/sotto/privacy/noise"

// CellsOf opens sums for tests.
func CellsOf(s *Sums) []int64 { return s.cells }

// Cells is how many cells a group has.
func (m *Mechanism) Cells() int { return m.cells }

// RankScores is for tests of quantiles.
var RankScores = rankScores

// Keep sets the exact cells of sums, for tests of sizes that take too long to add up.
func (s *Sums) Keep(cells []int64) error { return s.merge(cells) }

// Unit is in what units sums leave.
const Unit = unit

// Sum is what leaves of a sum, before noise.
func (m *Mechanism) Sum(i int, steps, count int64) int64 { return m.sum(i, steps, count) }

// Coarse is what leaves of a sum of squares, before noise.
var Coarse = coarse

// Numbers are what is released of each group before it is computed: its count, and for
// each column its sum, squares, count and counts where they are asked for.
func (m *Mechanism) Numbers(s *Sums, key noise.Key) [][]float64 {
	d := drawer{m: m, key: key, made: map[[2]float64]*noise.Additive{}}
	var out [][]float64
	for g := range m.layout.Groups() {
		n, err := d.group(g, s.cells[g*m.cells:(g+1)*m.cells])
		if err != nil {
			panic(err)
		}
		numbers := []float64{float64(n.count)}
		for i, c := range m.settings.Columns {
			of := n.columns[i]
			switch c.Statistic {
			case Mean, Moments:
				numbers = append(numbers, float64(of.sum))
				if c.Statistic == Moments {
					numbers = append(numbers, float64(of.square))
				}
				if c.Count > 0 {
					numbers = append(numbers, float64(of.count))
				}
			}
			for _, k := range of.counts {
				numbers = append(numbers, float64(k))
			}
		}
		out = append(out, numbers)
	}
	return out
}
