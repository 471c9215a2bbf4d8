package sketch

import (
	"fmt"
	"math"
)

// String describes in words what the sources share.
func (o Overlap) String() string {
	switch {
	case o.Equal:
		return "the same rows"
	case o.Ambiguous && o.Relation == Overlapping:
		return "rows that look alike, but so do most rows within each source: only its owner knows whether they are of the same people"
	case o.Relation == Unrelated:
		return "no rows in common that can be seen"
	}
	by := ""
	if o.By != ByRows {
		by = fmt.Sprintf(" (by %s)", o.By)
	}
	return fmt.Sprintf("%s of the known rows are in it, %s of its rows are known%s: about %s new rows",
		o.KnownInSeen, o.SeenInKnown, by, about(o.New))
}

// String formats the share as a percentage.
func (s Share) String() string {
	if s.Estimate > 0 && s.Estimate < 0.01 {
		return fmt.Sprintf("about %.1f %%", 100*s.Estimate)
	}
	return fmt.Sprintf("about %.0f %%", 100*s.Estimate)
}

// about rounds a number of rows to two digits.
func about(n float64) string {
	if n < 100 {
		return fmt.Sprintf("%.0f", n)
	}
	unit := math.Pow(10, math.Floor(math.Log10(n))-1)
	return fmt.Sprintf("%.0f", math.Round(n/unit)*unit)
}
