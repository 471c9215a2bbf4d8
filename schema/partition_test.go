package schema_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/schema"
)

// TestPartition: groups are found by name or read from words; what is wrong is reported.
func TestPartition(t *testing.T) {
	s := schema.Schema{
		Name: "pets", Label: "kind", Groups: map[string][]schema.Group{"2": {{Column: "kind"}}, "10": {{Column: "age"}}},
		Columns: []schema.Column{
			{Name: "age", Kind: schema.Numeric, High: 20},
			{Name: "kind", Kind: schema.Categorical, Values: []string{"cat", "dog"}},
			{Name: "home", Kind: schema.Categorical, Values: []string{"flat", "house", "farm"}},
		},
	}
	for _, c := range []struct {
		ready  string
		groups []string
		want   []schema.Group
		says   string
	}{
		{"", nil, []schema.Group{{Column: "kind"}}, ""},
		{"2", nil, s.Groups["2"], ""},
		{"1", nil, nil, ""},
		{"", []string{"kind", "age:5, 10"}, []schema.Group{{Column: "kind"}, {Column: "age", Cuts: []float64{5, 10}}}, ""},
		{"", []string{"home:flat/house,farm"}, []schema.Group{{Column: "home", Classes: [][]string{{"flat"}, {"house", "farm"}}}}, ""},
		{"", []string{"home:flat/"}, []schema.Group{{Column: "home", Classes: [][]string{{"flat"}, nil}}}, ""},
		{"3", nil, nil, `no ready-made partition "3": it has 2, 10`},
		{"2", []string{"kind"}, nil, "exclude each other"},
		{"", []string{"knd"}, nil, "did you mean kind?"},
		{"", []string{"age:young"}, nil, "write age:40,70"},
		{"", []string{"age"}, nil, "numbers without bins"},
		{"", []string{"age:50"}, nil, "within the bounds"},
		{"", []string{"home:flat/tent"}, nil, `"tent" is not one of the values`},
		{"", []string{"kind", "kind"}, nil, "twice"},
	} {
		got, err := s.Partition(c.ready, c.groups)
		switch {
		case c.says == "" && (err != nil || !reflect.DeepEqual(got, c.want)):
			t.Errorf("%q, %q: %+v, %v", c.ready, c.groups, got, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%q, %q: %+v, %v; want %q", c.ready, c.groups, got, err, c.says)
		}
	}
	s.Label, s.Groups = "", nil
	if got, err := s.Partition("", nil); got != nil || err != nil {
		t.Errorf("without a label: %+v, %v", got, err)
	}
	if _, err := s.Partition("2", nil); err == nil || !strings.Contains(err.Error(), "it has none") {
		t.Errorf("without partitions: %v", err)
	}
}
