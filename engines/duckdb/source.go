//go:build cgo

package duckdb

import (
	"context"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/private/table"
)

// Source is a table of a DuckDB file for [sotto.Profile] and [sotto.Perturb]. For a query
// leave the name empty and set Query; Private is required, as for every source.
func Source(path, name string) sotto.TableSource {
	return sotto.TableSource{
		Location: path, Table: name,
		Open: func(ctx context.Context, o table.Options) (*table.Data, error) { return Open(ctx, path, o) },
	}
}
