package beam

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"

	"github.com/sotto-dp/sotto/internal/private/table"
)

// scan is the splittable part of every function that reads rows. A restriction is a range
// of claims, and a claim is Stride blocks of a part: a runner may split a range anywhere
// between two claims, while it runs, and every block is still read once.
//
// Rows stay inside the function that reads them. What crosses to the runner is an
// aggregate, a name of a file, or (for units) rows that the function was asked to send.
type scan struct {
	Rows   rows  `json:"rows"`
	Stride int64 `json:"stride"`
	// Piece is how many claims a range has at first.
	Piece int64 `json:"piece"`
}

// CreateInitialRestriction is all of a part.
func (s *scan) CreateInitialRestriction(p Part) offsetrange.Restriction {
	return offsetrange.Restriction{End: max(1, (p.Blocks+s.Stride-1)/s.Stride)}
}

// SplitRestriction cuts it into pieces that can run in parallel.
func (s *scan) SplitRestriction(_ Part, r offsetrange.Restriction) []offsetrange.Restriction {
	return r.SizedSplits(s.Piece)
}

// RestrictionSize is in claims.
func (s *scan) RestrictionSize(_ Part, r offsetrange.Restriction) float64 { return r.Size() }

// CreateTracker lets a runner split a range while it is read.
func (s *scan) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

// claims calls each for every claim that the range still has. A part without rows has one
// claim too, so that something comes out for it.
func (s *scan) claims(ctx context.Context, rt *sdf.LockRTracker, p Part, each func(o blockReader, claim int64) error) error {
	o, err := s.Rows.open(ctx, p)
	if err != nil {
		return err
	}
	defer o.Close()
	for claim := rt.GetRestriction().(offsetrange.Restriction).Start; rt.TryClaim(claim); claim++ {
		if err := each(o, claim); err != nil {
			return err
		}
	}
	return nil
}

// batches calls each for every batch of a claim, in order.
func (s *scan) batches(ctx context.Context, o blockReader, p Part, claim int64, each func(*table.Batch) error) error {
	for n := claim * s.Stride; n < min(p.Blocks, (claim+1)*s.Stride); n++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("reading part %d of the table was stopped: %w", p.Number, err)
		}
		if err := o.block(ctx, n, each); err != nil {
			return err
		}
	}
	return nil
}
