package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Partition finds how rows are grouped: a ready-made partition of the schema by its name
// ("1" has all rows in one group), or groups as [Schema.parseGroup] reads them, or by the
// label if there are neither.
func (s Schema) Partition(ready string, groups []string) ([]Group, error) {
	switch named, ok := s.Groups[ready]; {
	case ready != "" && len(groups) > 0:
		return nil, errors.New("a ready-made partition and groups by columns exclude each other: give one of them")
	case ok:
		return named, nil
	case ready == "1":
		return nil, nil
	case ready != "":
		return nil, fmt.Errorf("the schema %s has no ready-made partition %q: it has %s; write [groups] in the schema, or group by columns (--group COLUMN, or --group COLUMN:40,70 for numbers)", s.Name, ready, s.partitions())
	case len(groups) == 0 && s.Label != "":
		return []Group{{Column: s.Label}}, nil
	}
	var out []Group
	for _, text := range groups {
		g, err := s.parseGroup(text)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	for _, p := range s.CheckGroups(out) {
		if !p.Warning {
			return nil, errors.New(p.String())
		}
	}
	return out, nil
}

// partitions lists those that are ready-made, small ones first.
func (s Schema) partitions() string {
	names := slices.SortedFunc(maps.Keys(s.Groups), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// parseGroup reads COLUMN, COLUMN:40,70 or COLUMN:a,b/c/ where a last empty list takes the
// rest. [Schema.CheckGroups] reports whether the column can be grouped so.
func (s Schema) parseGroup(text string) (Group, error) {
	name, classes, given := strings.Cut(text, ":")
	g := Group{Column: name}
	i, err := s.Named(name)
	switch {
	case err != nil:
		return g, err
	case !given:
		return g, nil
	case s.Columns[i].Kind == Numeric:
		for part := range strings.SplitSeq(classes, ",") {
			x, ok := s.Columns[i].Parse(part)
			if !ok {
				return g, fmt.Errorf("group %s: %q is not a number to cut at: write %s:40,70 for three classes", text, part, name)
			}
			g.Cuts = append(g.Cuts, x)
		}
		return g, nil
	}
	for list := range strings.SplitSeq(classes, "/") {
		var values []string
		for v := range strings.SplitSeq(list, ",") {
			if v = strings.TrimSpace(v); v != "" {
				values = append(values, v)
			}
		}
		g.Classes = append(g.Classes, values)
	}
	return g, nil
}
