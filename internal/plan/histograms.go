package plan

import (
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/schema"
)

// Histograms returns the request for a profile that rows can be drawn from: it is grouped by
// the label, and has a histogram of every other column, all of which must be discrete.
func (r ProfileRequest) Histograms() (ProfileRequest, error) {
	label := r.Schema.LabelColumn()
	if label < 0 {
		return r, fmt.Errorf("the schema %s has no label, by which rows are to be grouped: say which column it is", r.Schema.Name)
	}
	r.Groups = []schema.Group{{Column: r.Schema.Label}}
	r.Statistics = make(map[string]global.Statistic)
	for i, c := range r.Schema.Columns {
		if !c.Discrete() {
			return r, fmt.Errorf("column %q has numbers without bins: give it edges, so that it can be drawn", c.Name)
		}
		if i != label {
			r.Statistics[c.Name] = global.Histogram
		}
	}
	return r, nil
}
