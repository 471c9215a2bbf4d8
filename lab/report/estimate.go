package report

import (
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/lab/result"
)

// estimate is a mean over seeds, in points of 100. std and the interval are NaN where
// there is nothing to compute them from.
type estimate struct {
	mean, std, low, high float64
	seeds, items         int
}

// draws is how often intervals are resampled, signs how often p-values are: what is
// adjusted for many comparisons has to be finer, and costs less.
var (
	draws = stat.Options{Resamples: 2000}
	signs = stat.Options{Resamples: 20000}
)

// scores returns the items' scores by seed, in points of 100, or nil where some row lacks
// them or has another number of them.
func scores(rows []result.Row) [][]float64 {
	s := make([][]float64, len(rows))
	for i := range rows {
		items := rows[i].Items
		if len(items) == 0 || len(items) != len(rows[0].Items) {
			return nil
		}
		s[i] = make([]float64, len(items))
		for j, v := range items {
			s[i][j] = 100 * v
		}
	}
	return s
}

func estimateOf(rows []result.Row) estimate {
	means := make([]float64, len(rows))
	for i := range rows {
		means[i] = 100 * rows[i].Value
	}
	e := estimate{
		mean: stat.Mean(means), std: stat.Std(means), low: math.NaN(), high: math.NaN(),
		seeds: len(rows), items: rows[0].N,
	}
	if s := scores(rows); s != nil {
		if i, err := stat.Crossed(s, draws); err == nil {
			e.bound(i)
		}
	}
	return e
}

// bound takes an interval for the mean, which lies between 0 and 100 if the values do.
func (e *estimate) bound(i stat.Interval) {
	e.low, e.high = i.Low, i.High
	if e.mean >= 0 && e.mean <= 100 {
		e.low, e.high = max(0, e.low), min(100, e.high)
	}
}

// pair returns the scores of two cells for the seeds that both have. Without demonstrations
// there is nothing to draw, so one row stands for all seeds.
func pair(a, b *cell) (stat.PairedScores, bool) {
	var p stat.PairedScores
	ra, rb := a.rows, b.rows
	if b.method == zero && len(rb) == 1 {
		rb = slices.Repeat(rb, len(ra))
		for i := range rb {
			rb[i].Seed = ra[i].Seed
		}
	}
	var sa, sb []result.Row
	for i := range ra {
		if j := slices.IndexFunc(rb, func(r result.Row) bool { return r.Seed == ra[i].Seed }); j >= 0 {
			sa, sb = append(sa, ra[i]), append(sb, rb[j])
		}
	}
	p.A, p.B = scores(sa), scores(sb)
	return p, len(sa) > 0 && p.A != nil && p.B != nil
}

// difference returns the outcome of a comparison over data sets, in points of 100. It fails
// where there is only one score.
func difference(pairs ...stat.PairedScores) (stat.Comparison, bool) {
	c, err := stat.Compare(draws, pairs...)
	if err != nil {
		return c, false
	}
	c.Interval.Low, c.Interval.High = max(-100, c.Interval.Low), min(100, c.Interval.High)
	if c.Units == "seeds" { // the same test as Compare's, with more signs
		var shares []float64
		for _, p := range pairs {
			for i := range p.A {
				shares = append(shares, (stat.Mean(p.A[i])-stat.Mean(p.B[i]))/float64(len(p.A)))
			}
		}
		c.P, err = stat.SignFlip(shares, signs)
	}
	return c, err == nil
}

// average returns the mean over data sets of what one method did.
func average(cells []*cell) estimate {
	e := estimate{std: math.NaN(), low: math.NaN(), high: math.NaN()}
	var pairs []stat.PairedScores
	for _, c := range cells {
		e.mean += c.value.mean / float64(len(cells))
		e.seeds, e.items = e.seeds+c.value.seeds, e.items+c.value.items
		if s := scores(c.rows); s != nil {
			nothing := make([][]float64, len(s))
			for i := range s {
				nothing[i] = make([]float64, len(s[i]))
			}
			pairs = append(pairs, stat.PairedScores{A: s, B: nothing})
		}
	}
	if len(pairs) == len(cells) {
		if c, err := stat.Compare(draws, pairs...); err == nil {
			e.bound(c.Interval)
		}
	}
	return e
}

// each does n independent things on all processors.
func each(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			defer fault.Watch()
			do(i)
			return nil
		})
	}
	_ = group.Wait() // none fails
}
