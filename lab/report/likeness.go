package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/stat"
)

// likeness begins the names of metrics that compare embeddings of tokens; papers'
// BERTScore stands beside them.
const likeness = "embedding_"

// likenessTables show what embeddings say of answers, one for each metric.
func (r *report) likenessTables(g *group) []table {
	known := map[string]bool{}
	for _, c := range g.cells {
		for name := range c.metrics {
			if strings.HasPrefix(name, likeness) {
				known[name] = true
			}
		}
	}
	var out []table
	for _, name := range slices.Sorted(maps.Keys(known)) {
		notes := &sources{}
		t := g.table(r.published(g, name), notes, func(c *cell) (entry, bool) {
			values := c.points(name)
			return entry{Text: spread(stat.Mean(values), stat.Std(values))}, len(values) > 0
		})
		t.Caption = metricName(name) + ": mean ± standard deviation over seeds"
		t.Notes = append(notes.lines(), "Papers' BERTScore is of another encoder: its height says nothing beside ours.")
		out = append(out, t)
	}
	return out
}
