package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sotto-dp/sotto/internal/method"
	"github.com/sotto-dp/sotto/internal/stat"
	"github.com/sotto-dp/sotto/lab/result"
	"github.com/sotto-dp/sotto/lab/suite"
)

// block is what rows must have in common to be compared.
type block struct {
	model, answerer string
	calibrated      bool
}

// place of a cell in the tables of a data set and block.
type place struct {
	name  string
	shots int
	// epsilon is 0 where no record is used and +∞ where nothing protects them.
	epsilon float64
	// queries is the number of answers that ε is for, online; 0 for any number.
	queries int64
}

// cell is the result of one method at one place, over seeds.
type cell struct {
	place
	method string
	// online: records answered. claimed: nobody has proven that ε holds.
	online, claimed bool
	rows            []result.Row // by seed
	value           estimate
	// Means over the rows.
	write, published, answer float64
	seconds                  float64
	metrics                  map[string]float64
}

// group is a data set seen by one block.
type group struct {
	dataset string
	metric  string
	block   block
	// fixed: the data set has one kind of calibration only, and stands in every block.
	fixed bool
	cells []*cell // in order of methods, shots, ε
}

// alone reports methods whose demonstrations no model writes.
func alone(name string) bool {
	spec, _ := method.Lookup(name)
	return name == zero || spec.Copies
}

// zero is the row without demonstrations.
const zero = "zero"

// inPapers reports methods that the papers' programs have, whose schedule is a cost that
// was published.
func inPapers(name string) bool {
	spec, _ := method.Lookup(name)
	return spec.Scheduled
}

// epsilonOf gives a row its place on the axis.
func epsilonOf(r *result.Row) float64 {
	if r.Epsilon == nil {
		return math.Inf(1)
	}
	return *r.Epsilon
}

// check finds what would make numbers meaningless.
func (in *Input) check() error {
	if len(in.Rows) == 0 {
		return errors.New("report: there are no rows to show: run the suite first")
	}
	metrics, items := map[string]string{}, map[string]int{}
	for i := range in.Rows {
		r := &in.Rows[i]
		e := epsilonOf(r)
		switch {
		case r.Dataset == "" || r.Name == "" || r.Metric == "":
			return fmt.Errorf("report: row %d lacks a data set, a name or a metric: it was not written by an evaluation", i+1)
		case math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || math.IsNaN(e) || e < 0:
			return fmt.Errorf("report: row %d has the value %v at ε = %v, which no evaluation gives", i+1, r.Value, e)
		case metrics[r.Dataset] != "" && metrics[r.Dataset] != r.Metric:
			return fmt.Errorf("report: rows of %q are measured in %s and in %s: report each on its own", r.Dataset, metrics[r.Dataset], r.Metric)
		case metrics[r.Dataset] != "" && items[r.Dataset] != r.N:
			return fmt.Errorf("report: rows of %q are about %d items and about %d, so that they cannot be compared: run the suite again, or report each on its own", r.Dataset, items[r.Dataset], r.N)
		case len(r.Items) > 0 && (len(r.Items) != r.N || math.Abs(stat.Mean(r.Items)-r.Value) > 1e-9):
			return fmt.Errorf("report: the value of row %d is not the mean of its items' scores, so that one of them was changed: run the suite again", i+1)
		}
		metrics[r.Dataset], items[r.Dataset] = r.Metric, r.N
	}
	return nil
}

// groups sorts the rows into cells. Rows that no model wrote belong to all blocks of
// their answerer.
func (in *Input) groups() []*group {
	blocks := in.blocks()
	// Calibrated comes first, models in order of the rows.
	slices.SortStableFunc(blocks, func(a, b block) int { return cmp.Compare(calibration(a.calibrated), calibration(b.calibrated)) })
	var groups []*group
	for _, dataset := range in.datasets() {
		for _, b := range blocks {
			if g := in.group(dataset, b); g != nil {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// blocks that rows are of: by the models, and by calibration where some data set has both
// kinds. What no model wrote makes a block only if there is nothing else.
func (in *Input) blocks() []block {
	split := false
	for _, d := range in.datasets() {
		split = split || !in.fixed(d)
	}
	collect := func(of func(*result.Row) (string, bool)) []block {
		var blocks []block
		for i := range in.Rows {
			r := &in.Rows[i]
			model, ok := of(r)
			ok = ok && !(split && (r.Online || suite.Learned(r.Method))) // it stands in blocks of both calibrations
			b := block{model, r.Answerer, split && r.Calibrated}
			if ok && (!split || !in.fixed(r.Dataset)) && !slices.Contains(blocks, b) {
				blocks = append(blocks, b)
			}
		}
		return blocks
	}
	if blocks := collect(func(r *result.Row) (string, bool) { return r.Model, !alone(r.Method) && !suite.Learned(r.Method) }); len(blocks) > 0 {
		return blocks
	}
	if blocks := collect(func(r *result.Row) (string, bool) { return "", !suite.Learned(r.Method) }); len(blocks) > 0 {
		return blocks
	}
	return collect(func(*result.Row) (string, bool) { return "", true })
}

// fixed reports whether all rows of a data set are calibrated, or none, as where there are
// no labels to calibrate. What answers online, or was learned, has none to do with it.
func (in *Input) fixed(dataset string) bool {
	kinds := distinct(in.Rows, func(r result.Row) (bool, bool) {
		return r.Calibrated, r.Dataset == dataset && !r.Online && !suite.Learned(r.Method)
	})
	return len(kinds) < 2
}

// datasets in the order of the suite, then of the rows.
func (in *Input) datasets() []string {
	return ordered(in.Datasets, in.Rows, func(r *result.Row) string { return r.Dataset })
}

func (in *Input) names() []string {
	return ordered(in.Methods, in.Rows, func(r *result.Row) string { return r.Name })
}

// ordered lists the values that rows have: first those of the given order.
func ordered(first []string, rows []result.Row, of func(*result.Row) string) []string {
	met, all := map[string]bool{}, slices.Clone(first)
	for i := range rows {
		met[of(&rows[i])] = true
		all = append(all, of(&rows[i]))
	}
	return distinct(all, func(v string) (string, bool) { return v, met[v] })
}

// distinct lists the different values that some of a list have, in their order.
func distinct[T any, V comparable](list []T, of func(T) (V, bool)) []V {
	var out []V
	for _, x := range list {
		if v, ok := of(x); ok && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func (in *Input) group(dataset string, b block) *group {
	g := &group{dataset: dataset, block: b, fixed: in.fixed(dataset)}
	known := map[place]*cell{}
	own := false
	for i := range in.Rows {
		r := &in.Rows[i]
		if r.Dataset != dataset || !g.has(r) {
			continue
		}
		own = own || !alone(r.Method) && !suite.Learned(r.Method) || b.model == ""
		g.metric = r.Metric
		at := place{r.Name, r.Shots, epsilonOf(r), 0}
		if r.Online {
			at.shots, at.queries = 0, r.Queries
		}
		c := known[at]
		if c == nil {
			c = &cell{place: at, method: r.Method, online: r.Online, claimed: r.Claimed}
			known[at] = c
			g.cells = append(g.cells, c)
		}
		c.rows = append(c.rows, *r)
	}
	if !own {
		return nil
	}
	g.merge()
	order := in.names()
	slices.SortFunc(g.cells, func(a, b *cell) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.name), slices.Index(order, b.name)), cmp.Compare(a.shots, b.shots), cmp.Compare(a.epsilon, b.epsilon), cmp.Compare(a.queries, b.queries))
	})
	each(len(g.cells), func(i int) { g.cells[i].fill() })
	return g
}

// has reports whether a row of the data set belongs to the group's block.
func (g *group) has(r *result.Row) bool {
	if suite.Learned(r.Method) {
		return true
	}
	return r.Answerer == g.block.answerer && (g.fixed || r.Online || r.Calibrated == g.block.calibrated) && (alone(r.Method) || r.Model == g.block.model)
}

// merge puts cells together that differ in their number of demonstrations by chance: no
// seed has two such numbers. A run may find fewer labels than were asked for.
func (g *group) merge() {
	var kept []*cell
	for _, c := range g.cells {
		i := slices.IndexFunc(kept, func(k *cell) bool {
			return k.name == c.name && k.epsilon == c.epsilon && k.queries == c.queries && !slices.ContainsFunc(k.rows, func(a result.Row) bool {
				return slices.ContainsFunc(c.rows, func(b result.Row) bool { return a.Seed == b.Seed })
			})
		})
		if i < 0 {
			kept = append(kept, c)
			continue
		}
		kept[i].rows = append(kept[i].rows, c.rows...)
		kept[i].shots = max(kept[i].shots, c.shots)
	}
	g.cells = kept
}

// fill summarises the rows. A seed that was run twice counts once.
func (c *cell) fill() {
	slices.SortStableFunc(c.rows, func(a, b result.Row) int { return cmp.Compare(a.Seed, b.Seed) })
	c.rows = slices.CompactFunc(c.rows, func(a, b result.Row) bool { return a.Seed == b.Seed })
	c.value = estimateOf(c.rows)
	c.metrics = map[string]float64{}
	have := map[string]float64{}
	n := float64(len(c.rows))
	for i := range c.rows {
		r := &c.rows[i]
		c.write += float64(r.WriteTokens) / n
		if inPapers(c.method) {
			c.published += float64(r.PublishedTokens) / n
		}
		c.answer += float64(r.AnswerTokens) / n
		c.seconds += r.WriteSeconds / n
		for k, v := range r.Metrics {
			have[k]++
			c.metrics[k] += (v - c.metrics[k]) / have[k]
		}
	}
}

// shots returns the numbers of demonstrations that occur, none left aside.
func (g *group) shots() []int {
	list := distinct(g.cells, func(c *cell) (int, bool) { return c.shots, c.method != zero && !c.online && !suite.Learned(c.method) })
	slices.Sort(list)
	return list
}

// queries returns the numbers of answers that an ε is for, in order.
func (g *group) queries() []int64 {
	list := distinct(g.cells, func(c *cell) (int64, bool) { return c.queries, c.online })
	slices.Sort(list)
	return list
}

// online reports whether some method answers online.
func (g *group) online() bool { return len(g.queries()) > 0 }

// perAnswer returns the work for one answer, with its share in what writing took.
func (c *cell) perAnswer() float64 {
	if len(c.rows) == 0 || c.rows[0].N == 0 {
		return 0
	}
	return (c.write + c.answer) / float64(c.rows[0].N)
}

// epsilons that occur, in order.
func (g *group) epsilons() []float64 {
	list := distinct(g.cells, func(c *cell) (float64, bool) { return c.epsilon, true })
	slices.Sort(list)
	return list
}

// guaranteed reports an ε that protects someone and is paid for.
func guaranteed(epsilon float64) bool { return epsilon > 0 && !math.IsInf(epsilon, 1) }
