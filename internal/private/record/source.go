package record

import (
	"context"
	"errors"
	"hash"

	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// source reads the rows of one data set.
//
// Every scan and fetch sees the rows in one order, malformed ones included: the
// ordinal of a row is its place in that order, counted from 1.
type source interface {
	// scan yields every row in order, and gives what the fingerprint and the sketch are
	// about to w, unless it is nil. An error of yield ends it and is returned.
	scan(ctx context.Context, w *witness, yield func(*rows.Row) error) error
	// fetch yields the rows at some spots, which are in strictly increasing order, with
	// the index of the spot.
	fetch(ctx context.Context, at []spot, yield func(i int, r *rows.Row) error) error
	// seeks reports whether fetch reads only what is asked for.
	seeks() (bool, error)
	// stamp identifies this state of the source without reading it: the empty text if
	// nothing does.
	stamp() string
	// names are columns of the source, for a message about one that is missing.
	names() []string
	close() error
}

// witness sees all of a source in a pass over it, whatever columns are used.
type witness struct {
	// content becomes the fingerprint.
	content hash.Hash
	// rows becomes the sketch; nil if there is one already.
	rows *rowsketch.Rows
}

// spot is where a row is.
type spot struct {
	ordinal, place int64
}

// errEnough ends a scan that has seen what it wanted.
var errEnough = errors.New("enough")

// fetchByScan fetches where there is no random access: in one pass, up to the last row
// that is wanted.
func fetchByScan(ctx context.Context, s source, at []spot, yield func(int, *rows.Row) error) error {
	if len(at) == 0 {
		return nil
	}
	next, ordinal := 0, int64(0)
	err := s.scan(ctx, nil, func(r *rows.Row) error {
		if ordinal++; at[next].ordinal != ordinal {
			return nil
		}
		if err := yield(next, r); err != nil {
			return err
		}
		if next++; next == len(at) {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err != nil:
		return err
	}
	return origin.Differs(at[next].ordinal)
}
