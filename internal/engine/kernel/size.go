package kernel

import "github.com/sotto-dp/sotto/internal/engine/gguf"

// PackedBytes returns the memory that [Pack] takes for a tensor.
func PackedBytes(t gguf.Type, rows, cols int) (int64, error) {
	if _, err := RowBytes(t, cols); err != nil {
		return 0, err
	}
	l := &layouts[packed[t]]
	panels := (int64(rows) + Panel - 1) / Panel
	return panels * int64(cols/l.values) * int64(l.bytes()), nil
}
