package method

import (
	"maps"
	"slices"
	"strings"
)

// Makers are the methods of one package, by name.
type Makers[M Method] map[string]Maker[M]

// Maker makes a method: with zero settings, or so that it meets what a plan asks for.
type Maker[M Method] struct {
	New  func() M
	Plan func(Ask) (M, error)
}

// Names lists the methods.
func (m Makers[M]) Names() []string { return slices.Sorted(maps.Keys(m)) }

// New returns a method of a name with its zero settings, to be filled.
func (m Makers[M]) New(name string) (M, error) {
	one, err := m.find(name)
	if err != nil {
		var none M
		return none, err
	}
	return one.New(), nil
}

// Plan returns a method of a name that meets what a plan asks for.
func (m Makers[M]) Plan(name string, a Ask) (M, error) {
	one, err := m.find(name)
	if err != nil {
		var none M
		return none, err
	}
	return one.Plan(a)
}

func (m Makers[M]) find(name string) (Maker[M], error) {
	one, ok := m[name]
	if !ok {
		return one, Wrong("unknown method %q: one of %s", name, strings.Join(m.Names(), ", "))
	}
	return one, nil
}
