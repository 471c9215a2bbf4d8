//go:build !cgo

package duckdb

import "testing"

func TestSource(t *testing.T) {
	t.Skip("DuckDB is a C++ library: set CGO_ENABLED=1, with a C compiler, to test it")
}
