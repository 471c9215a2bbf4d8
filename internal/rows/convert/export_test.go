package convert

// NewSmallRows returns a table that takes a megabyte at most.
func NewSmallRows() *Rows { return &Rows{most: 1 << 20} }
