package suite

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// UnlistedError names a data set or a method that a suite does not have.
type UnlistedError struct {
	// What is "datasets" or "methods", Name the one that is not among them.
	What, Name string
	Have       []string
}

func (e *UnlistedError) Error() string {
	return fmt.Sprintf("the suite has no %s %q: it has %s", strings.TrimSuffix(e.What, "s"), e.Name, strings.Join(e.Have, ", "))
}

// Narrow leaves only the data sets and methods that are named, all of them where none is.
func (s Suite) Narrow(datasets, methods []string) (Suite, error) {
	var names, called []string
	for _, d := range s.Datasets {
		names = append(names, d.Name)
	}
	for _, m := range s.Methods {
		called = append(called, cmp.Or(m.Name, m.Method), m.Method)
	}
	for _, c := range []struct {
		what        string
		asked, have []string
	}{{"datasets", datasets, names}, {"methods", methods, called}} {
		for _, name := range c.asked {
			if !slices.Contains(c.have, name) {
				slices.Sort(c.have)
				return s, &UnlistedError{c.what, name, slices.Compact(c.have)}
			}
		}
	}
	if len(datasets) > 0 {
		s = s.without(func(dataset string) bool { return !slices.Contains(datasets, dataset) })
	}
	if len(methods) > 0 {
		s.Methods = slices.DeleteFunc(slices.Clone(s.Methods), func(m Method) bool {
			return !slices.Contains(methods, cmp.Or(m.Name, m.Method)) && !slices.Contains(methods, m.Method)
		})
	}
	return s, nil
}

// without leaves out data sets, and what is about them.
func (s Suite) without(other func(dataset string) bool) Suite {
	s.Datasets = slices.DeleteFunc(slices.Clone(s.Datasets), func(d Dataset) bool { return other(d.Name) })
	s.Published = slices.DeleteFunc(slices.Clone(s.Published), func(v PublishedValue) bool { return other(v.Dataset) })
	var methods []Method
	for _, m := range s.Methods {
		some := len(m.Datasets) > 0
		m.Datasets = slices.DeleteFunc(slices.Clone(m.Datasets), other)
		m.On = maps.Clone(m.On)
		maps.DeleteFunc(m.On, func(d string, _ Settings) bool { return other(d) })
		if !some || len(m.Datasets) > 0 {
			methods = append(methods, m)
		}
	}
	s.Methods = methods
	return s
}
