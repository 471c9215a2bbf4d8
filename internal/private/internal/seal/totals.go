package seal

import (
	"fmt"
	"log/slog"
)

// Totals are exact sums over private rows, before noise.
type Totals struct{ cells []int64 }

// NewTotals seals sums. They are kept, not copied.
func NewTotals(cells []int64) Totals { return Totals{cells} }

// Cells opens sums.
func Cells(t Totals) []int64 { return t.cells }

// Format writes a placeholder for every verb and flag.
func (Totals) Format(f fmt.State, _ rune) { fmt.Fprint(f, hidden) }

// LogValue returns a placeholder.
func (Totals) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalJSON returns a placeholder.
func (Totals) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// MarshalText returns a placeholder.
func (Totals) MarshalText() ([]byte, error) { return []byte(hidden), nil }
