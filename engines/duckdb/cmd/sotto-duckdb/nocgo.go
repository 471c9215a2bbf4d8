//go:build !cgo

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "sotto-duckdb: this build has no DuckDB, which is a C++ library: build with CGO_ENABLED=1 and a C compiler")
	os.Exit(1)
}
