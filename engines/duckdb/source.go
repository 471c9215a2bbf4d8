//go:build cgo

package duckdb

import (
	"context"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/run/compute"
)

// Source is a table of a DuckDB file for a [sotto.Client] to profile or to perturb. For a
// query leave the name empty and set Query.
func Source(path, name string) sotto.TableSource {
	open := func(ctx context.Context, o table.Options) (*table.Data, error) { return Open(ctx, path, o) }
	return sotto.TableSource{Table: name, Engine: compute.Opener(open)}
}
