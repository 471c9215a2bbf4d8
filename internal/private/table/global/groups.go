package global

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/schema"
)

// class is one class of one column: a part of what a group is. It says what values of
// that column are feasible in the group.
type class struct {
	words string
	// codes that belong to it, of a discrete column; nil stands for all.
	codes     []int
	low, high float64
}

// whole is the class of a column that is not grouped by.
func whole(c schema.Column) class { return class{low: c.Low, high: c.High} }

// allows reports whether a code is feasible.
func (k class) allows(code int) bool { return k.codes == nil || slices.Contains(k.codes, code) }

// grouping is how a column takes part in grouping.
type grouping struct {
	table.Partition
	classes []class
}

// newGrouping reads one group of a partition that passed the schema's check.
func newGrouping(s schema.Schema, g schema.Group) grouping {
	at, _ := s.Column(g.Column)
	c := s.Columns[at]
	out := grouping{Partition: table.Partition{Column: at, Classes: g.Size(c)}}
	edges := c.Edges
	if len(g.Cuts) > 0 {
		edges = g.Cuts
	}
	scale := table.NewScale(c)
	for _, e := range edges {
		out.Cuts = append(out.Cuts, scale.Steps(e))
	}
	out.classes = make([]class, out.Classes)
	if len(g.Cuts) > 0 {
		for k := range out.classes {
			out.classes[k] = byCuts(c, g.Cuts, k)
		}
		return out
	}
	for code, k := range g.ClassOf(c) {
		out.Class = append(out.Class, uint16(k))
		out.classes[k].codes = append(out.classes[k].codes, code)
	}
	for k := range out.classes {
		out.classes[k] = byValues(c, g, out.classes[k].codes, k)
	}
	return out
}

func byCuts(c schema.Column, cuts []float64, k int) class {
	switch {
	case k == 0:
		return class{words: fmt.Sprintf("%s < %v", c.Name, cuts[0]), low: c.Low, high: cuts[0]}
	case k == len(cuts):
		return class{words: fmt.Sprintf("%s ≥ %v", c.Name, cuts[k-1]), low: cuts[k-1], high: c.High}
	}
	return class{words: fmt.Sprintf("%v ≤ %s < %v", cuts[k-1], c.Name, cuts[k]), low: cuts[k-1], high: cuts[k]}
}

func byValues(c schema.Column, g schema.Group, codes []int, k int) class {
	out := class{codes: codes, low: c.Low, high: c.High}
	if len(c.Edges) > 0 {
		if first := slices.Min(codes); first > 0 {
			out.low = c.Edges[first-1]
		}
		if last := slices.Max(codes); last < len(c.Edges) {
			out.high = c.Edges[last]
		}
	}
	if len(g.Classes) > 0 && len(g.Classes[k]) == 0 {
		out.words = c.Name + ": any other"
		return out
	}
	domain := c.Domain()
	var names []string
	for _, code := range codes {
		names = append(names, domain[code])
	}
	out.words = c.Name + " = " + strings.Join(names, " or ")
	return out
}
