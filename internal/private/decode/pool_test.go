package decode_test

import (
	"context"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// pool holds records in memory: parts of units with one record each.
type pool [][]seal.Record

func init() { seal.Admit[pool]() }

func (p pool) Size(part int) seal.Count { return seal.NewCount(len(p[part])) }

func (p pool) Choose(part, unit int, _ *noise.Stream) (seal.Ref, error) {
	return seal.NewRef(int64(part), int64(unit)), nil
}

func (p pool) Fetch(_ context.Context, refs []seal.Ref) ([]seal.Record, error) {
	out := make([]seal.Record, len(refs))
	for i, r := range refs {
		part, unit := seal.Place(r)
		out[i] = p[part][unit]
	}
	return out, nil
}
