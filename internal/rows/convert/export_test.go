package convert

// NewSmallRows returns a table that takes a megabyte at most.
func NewSmallRows() *Rows { return &Rows{maxCells: 1 << 20} }
