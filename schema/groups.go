package schema

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sotto-dp/sotto/internal/sys/document"
)

// CheckGroups returns every problem of a partition: classes must be disjoint and cover the
// domain, so that every row is in exactly one group.
func (s Schema) CheckGroups(groups []Group) []Problem {
	var found document.Problems
	s.WithDefaults().checkGroups(&found, "groups", groups)
	return found.List
}

// GroupCount returns how many groups a partition has: the product over its columns. It is 0
// for a partition that fails its check.
func (s Schema) GroupCount(groups []Group) int {
	n := 1
	for _, g := range groups {
		i, ok := s.Column(g.Column)
		if !ok || n > maxGroups {
			return 0
		}
		n *= g.Size(s.Columns[i])
	}
	if n > maxGroups {
		return 0
	}
	return n
}

// Size returns how many classes a group makes of its column.
func (g Group) Size(c Column) int {
	switch {
	case len(g.Cuts) > 0:
		return len(g.Cuts) + 1
	case len(g.Classes) > 0:
		return len(g.Classes)
	}
	return len(c.Domain())
}

// ClassOf returns the class of every code of a discrete column; nil if classes are by cuts.
func (g Group) ClassOf(c Column) []int {
	domain := c.Domain()
	if len(g.Cuts) > 0 || domain == nil {
		return nil
	}
	out := make([]int, len(domain))
	for code, v := range domain {
		out[code] = code
		if len(g.Classes) > 0 {
			out[code] = len(g.Classes) - 1 // the last takes the rest
			for k, values := range g.Classes {
				if slices.Contains(values, v) {
					out[code] = k
				}
			}
		}
	}
	return out
}

func (s Schema) checkGroups(found *document.Problems, at string, groups []Group) {
	seen := map[string]bool{}
	for j, g := range groups {
		at := fmt.Sprintf("%s[%d]", at, j+1)
		i, ok := s.Column(g.Column)
		switch {
		case !ok:
			found.Wrong(at, fmt.Sprintf("there is no column %q", document.Shorten(g.Column)), "%s", s.known(g.Column))
			continue
		case seen[g.Column]:
			found.Wrong(at, fmt.Sprintf("column %q is grouped on twice", document.Shorten(g.Column)), "name it once, with all its classes")
		}
		seen[g.Column] = true
		s.Columns[i].checkGroup(found, at, g)
	}
	if n := s.GroupCount(groups); n == 0 && len(groups) > 0 && document.Valid(found.List) {
		found.Wrong(at, fmt.Sprintf("they are more than %d groups", maxGroups), "group on fewer columns, or into fewer classes: every group needs rows")
	}
}

func (c Column) checkGroup(found *document.Problems, at string, g Group) {
	switch {
	case len(g.Cuts) > 0 && len(g.Classes) > 0:
		found.Wrong(at, "it has both cuts and classes", "give cuts for numbers, classes for values")
	case len(g.Cuts) > 0 && c.Kind != Numeric:
		found.Wrong(at, "cuts are for numeric columns", "give classes, such as classes = [[\"A\"], []]")
	case len(g.Cuts) > 0 && c.Low < c.High: // other bounds are a problem of the column
		for k, x := range g.Cuts {
			if !(x > c.Low && x < c.High) || k > 0 && !(x > g.Cuts[k-1]) || math.IsNaN(x) {
				found.Wrong(at, fmt.Sprintf("cut %s is not in increasing order within the bounds", exact(x)), "classes meet strictly within low and high, in increasing order")
			}
		}
	case len(g.Cuts) == 0 && !c.Discrete():
		found.Wrong(at, "the column has numbers without bins", "say where classes meet, for example cuts = [40]")
	case len(g.Classes) > 0:
		c.checkClasses(found, at, g.Classes)
	}
}

func (c Column) checkClasses(found *document.Problems, at string, classes [][]string) {
	domain, listed := c.Domain(), map[string]bool{}
	for k, values := range classes {
		if len(values) == 0 && k < len(classes)-1 {
			found.Wrong(at, fmt.Sprintf("class %d is empty", k+1), "only the last may be: it takes the values that no other lists")
		}
		for _, v := range values {
			switch {
			case !slices.Contains(domain, v):
				found.Wrong(at, fmt.Sprintf("%q is not one of the values", document.Shorten(v)), "values are %s", document.Quote(domain))
			case listed[v]:
				found.Wrong(at, fmt.Sprintf("%q is in two classes", document.Shorten(v)), "classes have to be disjoint: list each value once")
			}
			listed[v] = true
		}
	}
	last := classes[len(classes)-1]
	for _, v := range domain {
		if !listed[v] && len(last) > 0 {
			found.Wrong(at, fmt.Sprintf("%q is in no class", document.Shorten(v)), "list it, or add an empty class at the end, [], that takes the rest")
			return
		}
	}
	if len(last) == 0 && len(listed) == len(domain) {
		found.Wrong(at, "the last class is empty, and no value is left for it", "leave it out")
	}
}

// checkGroupCount: a partition that is called by a number has as many groups.
func (s Schema) checkGroupCount(found *document.Problems, name string) {
	if document.Flaw(name) != "" {
		found.Wrong("groups", "the name of a partition is blank or has control characters", "call it by its number of groups, for example \"4\"")
	}
	want, err := strconv.Atoi(name)
	if n := s.GroupCount(s.Groups[name]); err == nil && n > 0 && n != want {
		found.Wrong("groups."+name, fmt.Sprintf("it has %d groups", n), "call it %d", n)
	}
}
