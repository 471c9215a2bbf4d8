package global_test

import (
	"testing"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
	"github.com/sotto-dp/sotto/schema"
)

// TestCutsBelongAbove: a number at a cut is in the class above it, as the words of the
// group say, and the nearest one below that the encoding knows is not.
func TestCutsBelongAbove(t *testing.T) {
	o := all()
	o.Groups = []schema.Group{{Column: "x", Cuts: []float64{15, 20}}}
	o.Columns[4] = global.Column{Name: "y", Statistic: global.Mode, Multiplier: 1}
	m := newMechanism(t, o)
	cut := table.NewScale(tiny().Columns[0]).Steps
	for _, c := range []struct {
		steps int32
		group int
	}{{-table.Steps, 0}, {cut(15) - 1, 0}, {cut(15), 1}, {cut(20) - 1, 1}, {cut(20), 2}, {table.Steps, 2}} {
		s := sumsOf(t, m, []record{{c.steps, 0, 0, 0, 0}})
		for g := range m.Layout().Groups() {
			if n := global.CellsOf(s)[g*m.Cells()]; (n == 1) != (g == c.group) {
				t.Errorf("%d steps: %d rows in group %d, want them in %d", c.steps, n, g, c.group)
			}
		}
	}
}

// TestWhatIsNotAskedStays: without a count in the settings, none leaves.
func TestWhatIsNotAskedStays(t *testing.T) {
	o := all()
	o.Count, o.Groups = 0, o.Groups[:1]
	m := newMechanism(t, o)
	rows := make([]record, 1000)
	for g, numbers := range m.Numbers(sumsOf(t, m, rows), noise.KeyFromSeed(1)) {
		if numbers[0] != 0 {
			t.Errorf("group %d has the count %v, which nobody pays for", g, numbers[0])
		}
	}
}
