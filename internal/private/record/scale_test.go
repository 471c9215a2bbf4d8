package record

import (
	"context"
	"fmt"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	sampling "github.com/sotto-dp/sotto/internal/private/draw"
	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/rows"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// countingSource is a source that counts the rows it is asked for, and how often it is read from end to end.
type countingSource struct {
	source
	rows, scans int
}

func (c *countingSource) scan(ctx context.Context, w *witness, yield func(*rows.Row) error) error {
	c.scans++
	return c.source.scan(ctx, w, yield)
}

func (c *countingSource) fetch(ctx context.Context, at []spot, yield func(int, *rows.Row) error) error {
	c.rows += len(at)
	return c.source.fetch(ctx, at, yield)
}

// checkDraws draws from n records, ten times 32 on average, and counts what that reads: it depends on who was drawn,
// and not on n.
func checkDraws(t *testing.T, n int, unit string) {
	t.Helper()
	d := open(t, writeMany(t, n), Options{Condition: "label", Labels: []string{"0", "1", "2", "3"}, Together: true, Unit: unit})
	source := &countingSource{source: d.s}
	d.s = source
	units := seal.Exactly(d.Size(0))
	poisson := scheme.Scheme{Kind: scheme.Poisson, Per: scheme.PerToken, Rate: 32 / float64(units)}
	drawer, before, drawn := sampling.NewDrawer(d, noise.KeyFromSeed(1)), d.x.reads.Load(), 0
	for round := range 10 {
		sample, err := drawer.DrawStep(poisson, sampling.Text{}, int64(round))
		if err != nil {
			t.Fatal(err)
		}
		var refs []seal.Ref
		for _, some := range sample.Prompts {
			refs = append(refs, some...)
		}
		if _, err := d.Fetch(t.Context(), refs); err != nil {
			t.Fatal(err)
		}
		drawn += len(refs)
	}
	reads := int(d.x.reads.Load() - before)
	each := 2 // to name a record, and to read it
	if unit != "" {
		each++ // where its unit begins
	}
	expect.Within(t, "records drawn", drawn, 220, 420)
	expect.Equal(t, "reads of the index", reads, each*drawn)
	expect.Equal(t, "rows of the source", source.rows, drawn)
	expect.Equal(t, "passes over the source", source.scans, 0)
}

// TestDrawsReadWhatTheyDraw: whatever the number of records, a draw reads the records that were drawn and their places
// in the index.
func TestDrawsReadWhatTheyDraw(t *testing.T) {
	for _, n := range []int{1000, 10_000, 100_000} {
		for _, unit := range []string{"", "user"} {
			if unit != "" && n == 1000 {
				continue // these are 100 people
			}
			t.Run(fmt.Sprint(n, unit), func(t *testing.T) { checkDraws(t, n, unit) })
		}
	}
}

// TestLongDrawsReadWhatTheyDraw does so with ten million records.
func TestLongDrawsReadWhatTheyDraw(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("ten million records are read")
	}
	checkDraws(t, 10_000_000, "")
}
