package global

import "sotto/private/table"

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

var _ = table.Steps
