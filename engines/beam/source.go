package beam

import (
	"context"
	"errors"
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/schema"
)

// input is where rows come from: exactly one of its fields is set. It travels in the job
// graph, so it holds places and sizes, never content.
type input struct {
	Generated *syntheticTable `json:"generated,omitempty"`
	Files     *fileSet        `json:"files,omitempty"`
}

// Part is a part of a source that workers can open by themselves: a file, or all rows of
// a generated table. It is cut into blocks, in the same places anyone who reads it.
type Part struct {
	// Number of the part in its source, from 0.
	Number int64
	Path   string
	// Size in bytes when the job was made.
	Size   int64
	Blocks int64
	// Stretch is how many bytes of a CSV file a block has: the rows that begin in them.
	Stretch int64
}

// How many parts, blocks of one, and bytes or rows of one fit into the numbers below.
const (
	maxParts  = 1 << 22
	maxBlocks = 1 << 32
	maxOffset = 1 << 39
)

// index numbers batches over all parts. All randomness that a row meets is derived from
// this number, so that a bundle that runs again, or is split elsewhere, draws the same.
func (p Part) index(block int64) int64 { return p.Number<<32 | block }

// ordinal numbers rows over all parts: by the number of the row in its part, or by the
// byte that its block begins with, which is as unique.
func (p Part) ordinal(n int64) int64 { return p.Number<<40 | n }

// rows says how rows are read: the same on every worker.
type rows struct {
	Source   input         `json:"source"`
	Schema   schema.Schema `json:"schema"`
	Discrete bool          `json:"discrete"`
	Unit     string        `json:"unit,omitempty"`
	Columns  []int         `json:"columns"`

	units []byte // the secret that units are hashed with, on a worker
}

// steps reports whether a column is read as steps, not as codes.
func (r rows) steps(column int) bool {
	c := r.Schema.Columns[column]
	return c.Kind == schema.Numeric && !(r.Discrete && c.Discrete())
}

// blockReader is a part that can be read block by block, in any order. The batch belongs to
// the reader, which uses its memory again.
type blockReader interface {
	block(ctx context.Context, n int64, each func(*table.Batch) error) error
	Close() error
}

func (r rows) open(ctx context.Context, p Part) (blockReader, error) {
	switch {
	case r.Source.Generated != nil:
		return r.openGenerated(p)
	case r.Source.Files != nil:
		return r.openFile(ctx, p)
	default:
		return nil, errNoSource
	}
}

var errNoSource = errors.New("a job needs files, or a number of made-up rows")

// parts lists what is read.
func (s input) parts(ctx context.Context) ([]Part, error) {
	switch {
	case s.Generated != nil && s.Files != nil:
		return nil, errors.New("a job has files or made-up rows, not both")
	case s.Generated != nil:
		return s.Generated.parts()
	case s.Files != nil:
		all, err := s.Files.parts(ctx)
		if err != nil {
			return nil, err
		}
		if len(all) >= maxParts {
			return nil, fmt.Errorf("there are %d files, and at most %d can be numbered: put several into one", len(all), maxParts-1)
		}
		return all, nil
	default:
		return nil, errNoSource
	}
}
